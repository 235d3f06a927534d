// launch: n = 1, 5, 12; m = 0, 3, 12
// i - 1 < m is an unsigned comparison: false for i = 0, although -1 < 3
extern "C" __global__ void signed_unsigned_compare(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i)
        s = s * 0.5f + (i - 1 < m ? a[i] : -a[order[t + i] % n]);
    int taken = 0;
    for (int i = -1; i < m && i < n; ++i) { s += i >= 0 ? a[i] : 1.0f; ++taken; }
    out[t] = s + 100.0f * taken;
}
