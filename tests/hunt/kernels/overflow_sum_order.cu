// launch: n = 0, 1, 5, 8; m = 0, 3
// large and small: another order of the additions gives other bits
extern "C" __global__ void overflow_sum_order(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {1e20f, 1.0f, -1e20f, 3e38f, 0.25f, -3e38f, 1e-30f, 7.0f};
    for (int i = 0; i < n; ++i) { const int x = order[t * 8 + i] % 8; const float c = a[x]; a[x] = a[i]; a[i] = c; }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += a[i];
    out[t] = s;
}
