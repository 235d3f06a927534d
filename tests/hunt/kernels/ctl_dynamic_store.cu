// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_dynamic_store(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[24];
    for (int i = 0; i < 24; ++i) a[i] = in[t * 24 + i];
    for (int i = 0; i < n; ++i) a[order[t * 24 + i] % 24] -= 1.0f + i;
    for (int i = 0; i < 24; ++i) out[t * 24 + i] = a[i];
}
