// launch: n = 0, 3, 12; m = 0, 3
// the product is rounded at the call boundary; inlined it may be fused
static __device__ __noinline__ void product(float a, float b, float* r) { *r = a * b; }
extern "C" __global__ void noinline_fma(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f, p;
    for (int i = 0; i < n; ++i) { product(in[t * 12 + i], in[t * 12 + i + 1], &p); s += p; }
    out[t] = s;
}
