// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_permute(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], b[12] = {};
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) b[(i * 5 + order[t]) % 12] = a[i];
    for (int i = 0; i < 12; ++i) out[t * 12 + i] = b[i];
}
