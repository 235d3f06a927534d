// launch: n = 0, 1, 9; m = 0, 3
// the copy is older than what another pointer to the same memory writes
struct Kept { float w[12]; int next[4]; };
__device__ float later(const Kept* kept, Kept* same, const int* order, int t, int n)
{
    Kept own = kept[t];
    for (int i = 0; i < 12; ++i) same[t].w[i] = own.w[(i + n) % 12] + 1.0f;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + own.w[(order[t + i] & 0x7fffffff) % 12];
    return sum;
}
extern "C" __global__ void read_before_it_changes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    Kept* mine = reinterpret_cast<Kept*>(out + 65536);
    for (int i = 0; i < 12; ++i) mine[t].w[i] = in[t * 12 + i];
    for (int i = 0; i < 4; ++i) mine[t].next[i] = 0;
    out[t] = later(mine, mine, order, t, n) + (float)m;
}
