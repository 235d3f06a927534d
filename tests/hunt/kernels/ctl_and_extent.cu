// launch: n = 0, 1, 5, 24, 40; m = 0, 3
// control: the extent is part of the condition
extern "C" __global__ void ctl_and_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[24];
    for (int i = 0; i < n && i < 24; ++i) a[i] = in[t * 24 + i];
    float s = 0.0f;
    for (int i = 0; i < n && i < 24; ++i) s = s * 0.5f + a[(n < 24 ? n : 24) - 1 - i];
    out[t] = s;
}
