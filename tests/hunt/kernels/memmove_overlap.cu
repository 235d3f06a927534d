// launch: n = 0, 1, 5, 11; m = 0, 1
// memmove by hand: source and destination overlap, an ascending loop would smear
extern "C" __global__ void memmove_overlap(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    for (int i = n; i > 0; --i) a[i] = a[i - 1];
    a[0] = 2.0f;
    for (int i = 0; i < n; ++i) a[i] = a[i + m] + a[order[t + i] % (n + 1)];
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
