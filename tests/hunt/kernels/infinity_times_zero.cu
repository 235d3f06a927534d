// launch: n = 0, 1, 5, 9; m = 0, 3
// one element is infinite: `sum += (j == k) * a[j]` makes NaN of it
extern "C" __global__ void infinity_times_zero(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[9];
    for (int k = 0; k < 9; ++k) a[k] = in[t * 9 + k];
    for (int i = 0; i < n; ++i) a[order[t * 9 + i] % 9] *= 4.0f;
    a[order[t] % 9] = INFINITY;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) { const float x = a[order[t * 9 + i + 1] % 9]; s = s * 0.5f + (x < 100.0f ? x : 2.0f); }
    out[t] = s;
}
