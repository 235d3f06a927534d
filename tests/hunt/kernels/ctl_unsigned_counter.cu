// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_unsigned_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    const unsigned count = n;
    for (unsigned i = 0; i < count; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (unsigned i = 0; i < count; ++i) s = s * 0.5f + a[count - 1 - i];
    out[t] = s;
}
