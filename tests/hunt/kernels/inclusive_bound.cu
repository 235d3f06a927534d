// launch: n = -1, 0, 5, 11; m = 0, 3
// control
extern "C" __global__ void inclusive_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i <= n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i <= n; ++i) s = s * 0.5f + a[n - i];
    out[t] = s;
}
