// launch: n = 0, 1, 7, 12; m = 0, 3
// control
extern "C" __global__ void ctl_memcpy_elements(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    memcpy(a, in + t * 12, sizeof(float) * n);
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
