// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_prefix_sum(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    for (int i = 1; i < n; ++i) a[i] += a[i - 1];
    for (int i = 0; i < n; ++i) out[t * 12 + i] = a[i];
}
