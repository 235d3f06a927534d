// launch: n = -1, 1, 5, 12; m = 0, 3
// n = -1 means "all" here: as unsigned it is the largest number, and the break comes first
extern "C" __global__ void unsigned_counter_negative_n(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (unsigned i = 0; i < n; ++i) {
        if (i == 12) { s += 64.0f; break; }
        a[order[t + i] % 12] += s;
        s = s * 0.5f + a[i];
    }
    out[t] = s;
}
