// launch: n = 0, 1, 5, 16; m = 0, 3
// the pragma stands in a macro with _Pragma, the loop it belongs to in the next line
#define KEEP_ROLLED _Pragma("unroll 1")
extern "C" __global__ void unroll_pragma_in_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16];
    if (n >= 0)
        KEEP_ROLLED
        for (int i = 0; i < 16; ++i) a[i] = in[t * 16 + i];
    KEEP_ROLLED for (int i = 1; i < 16; ++i) a[i] -= a[i - 1];
    float s = 0.0f;
    KEEP_ROLLED
    // a comment between
    for (int i = 0; i < 16; ++i) s = s * 0.5f + a[15 - i];
    out[t] = s + m;
}
