// launch: n = 0, 2, 6, 12; m = 0, 3
// control
extern "C" __global__ void ctl_step_two(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; i += 2) { a[i] = in[t * 12 + i]; a[i + 1] = in[t * 12 + i + 1]; }
    float s = 0.0f;
    for (int i = 0; i < n; i += 2) s = s * 0.5f + a[i] - a[i + 1];
    out[t] = s;
}
