// launch: n = 0, 1, 5, 12; m = 0, 3
// the old trick against leaking counters: `for` is a macro
#define for if (0) ; else for
extern "C" __global__ void macro_for_keyword(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {}, s = 0.0f;
    if (m) { for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i]; }
    else { for (int i = 0; i < n; ++i) a[n - 1 - i] = -in[t * 12 + i]; }
    if (n > 3)
        for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
