// launch: n = 1, 5, 12; m = 0, 3
// LAST is redefined between head and body of the loop
#define LAST(n) ((n) - 1)
extern "C" __global__ void macro_undef_in_body(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i <= LAST(n); ++i)
#undef LAST
#define LAST(n) ((n) / 2)
        a[i] = in[t * 12 + i] + LAST(n);
    float s = 0.0f;
    for (int i = 0; i <= LAST(n) && i < n; ++i) s = s * 0.5f + a[i];
    for (int i = 0; i < n; ++i) s += a[order[t + i] % n];
    out[t] = s;
}
