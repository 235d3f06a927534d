// launch: n = 0, 1, 5, 8; m = 0, 3
// each comparison reads the bound, which is volatile: one read less is another program
typedef volatile int Bound;
extern "C" __global__ void volatile_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    Bound limit = n;
    for (int i = 0; i < 8; ++i) a[i] = in[t * 8 + i];
    float s = 0;
    for (unsigned r = 0; r < m; ++r)
        for (int i = 0; i < limit; ++i) { s += a[i] * r; a[i] = s * 0.25f; }
    for (int i = 0; i < 8; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
