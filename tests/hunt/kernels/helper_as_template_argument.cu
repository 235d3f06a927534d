// launch: n = 0, 5, 33; m = 0, 40
// the helper is a template's argument, too, and is called there with more elements
__device__ float total(const float* p, int count)
{
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) s = s * 0.5f + p[i];
    return s;
}
template <float F(const float*, int)> __device__ float call(const float* p, int count) { return F(p, count); }
extern "C" __global__ void helper_as_template_argument(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = in[t * 64 + i];
    float s = total(a, n < 32 ? n : 32);
    out[t] = s + call<total>(in + t * 64, n);
}
