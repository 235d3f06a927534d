// launch: n = 0, 1, 7, 16; m = 0, 3
// control
extern "C" __global__ void long_long_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    float a[16];
    for (long long i = 0; i < n; ++i) a[i] = in[t * 16 + i];
    float s = 0.0f;
    for (long long i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    out[t] = s;
}
