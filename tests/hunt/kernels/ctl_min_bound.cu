// launch: n = 0, 1, 5, 24, 40; m = 0, 3
// control
extern "C" __global__ void ctl_min_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[24];
    const int lim = min(n, 24);
    for (int i = 0; i < lim; ++i) a[i] = in[t * 24 + i];
    float s = 0.0f;
    for (int i = 0; i < lim; ++i) s = s * 0.5f + a[lim - 1 - i] + a[order[t + i] % lim];
    out[t] = s;
}
