// launch: n = 0, 1, 5, 12; m = 0, 1, 2
// control
extern "C" __global__ void ctl_case_block(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], s = 0.0f;
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    switch (m) {
    case 0: { for (int i = 0; i < n; ++i) s = s * 0.5f + a[i]; break; }
    case 1: { for (int i = 0; i < n; ++i) s = s * 0.5f - a[n - 1 - i]; break; }
    default: { for (int i = 0; i < n; ++i) s += 0.5f; }
    }
    out[t] = s;
}
