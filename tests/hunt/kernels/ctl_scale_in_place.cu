// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_scale_in_place(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) a[i] = a[i] * 0.5f + (float)m;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
