// launch: n = 0, 5, 33; m = 0, 40
// the only call of the helper is in another one, whose parameter has the array's name
__device__ float total(const float* a, int count)
{
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) s = s * 0.5f + a[i];
    return s;
}
__device__ float twice(const float* a, int count) { return 2 * total(a, count); }
extern "C" __global__ void helper_handed_on(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = in[t * 64 + i];
    out[t] = twice(a, n < 32 ? n : 32) + twice(in + t * 64, n);
}
