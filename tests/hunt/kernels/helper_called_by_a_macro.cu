// launch: n = 0, 5, 33; m = 0, 40
// a macro calls the helper with memory that is longer than the array
#define TOTAL(p, count) total(p, count)
__device__ float total(const float* p, int count)
{
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) s = s * 0.5f + p[i];
    return s;
}
extern "C" __global__ void helper_called_by_a_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = in[t * 64 + i];
    float s = total(a, n < 32 ? n : 32);
    if (n == 33) s += TOTAL(in + t * 64, n);
    out[t] = s;
}
