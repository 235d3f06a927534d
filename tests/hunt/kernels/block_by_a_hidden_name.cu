// launch: n = 1, 9; m = 32, 64, 128
// the launch means another constant by the name of its blocks than the kernel does
constexpr int B = 32;
extern "C" __global__ void block_by_a_hidden_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x >= m) { out[t] = B; return; }
    unsigned h[32];
    for (int i = 0; i < 32; i++) h[i] = 0;
    for (int i = 0; i < n; i++) {
        const unsigned v = order[t * 9 + i];
        h[v & 31]++;
        h[(v >> 3) & 31] += 2;
        h[(v ^ h[v & 31]) & 31] += 3;
        h[h[(v * 7) & 31] & 31] += 5;
        h[(v * 5 + h[(v >> 1) & 31]) & 31] += 7;
    }
    unsigned best = 0;
    for (int i = 0; i < n; i++) best += h[(order[t * 9 + i] * 5) & 31] * h[best & 31];
    out[t] = best;
}
void run(const float* in, const int* order, float* out)
{
    const int B = 128;
    block_by_a_hidden_name<<<64, B>>>(in, order, out, 9, 128);
}
