// launch: n = 0, 1, 8, 13; m = 0, 3
// control
extern "C" __global__ void ctl_early_return_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < 0 || n > 8) return;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = m;
    for (int r = 0; r < 16; ++r)
        for (int i = 0; i < n; ++i) {
            const float x = in[t * 128 + r * 8 + i];
            if (x > 0.0f) a[i] += x;
        }
    for (int i = 0; i < n; ++i) out[t * 8 + i] = i & 1 ? a[i] : -a[i];
}
