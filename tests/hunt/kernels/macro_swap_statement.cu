// launch: n = 0, 1, 5, 12; m = 0, 3
// two statements in one macro: after an `if` without braces only the first is conditional
#define SHIFT(a, i) a[i] = a[(i) + 1]; a[(i) + 1] = (float)(i)
extern "C" __global__ void macro_swap_statement(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[13];
    for (int i = 0; i < 13; ++i) a[i] = in[t * 13 + i];
    for (int i = 0; i < n; ++i)
        SHIFT(a, order[t + 5] % 12);
    for (int i = 0; i < n; ++i) {
        if (a[i] > 0.0f) SHIFT(a, i);
    }
    float s = 0.0f;
    for (int i = 0; i < 13; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
