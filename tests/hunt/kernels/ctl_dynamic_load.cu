// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_dynamic_load(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
#pragma unroll 1
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[order[t * 12 + i] % 12];
    out[t] = s;
}
