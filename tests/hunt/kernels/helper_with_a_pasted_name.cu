// launch: n = 0, 5, 33; m = 0, 40
// a macro makes the helper's name of two parts
#define CALL(kind, p, count) total_##kind(p, count)
__device__ float total_of(const float* p, int count)
{
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) s = s * 0.5f + p[i];
    return s;
}
extern "C" __global__ void helper_with_a_pasted_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = in[t * 64 + i];
    float s = total_of(a, n < 32 ? n : 32);
    out[t] = s + CALL(of, in + t * 64, n);
}
