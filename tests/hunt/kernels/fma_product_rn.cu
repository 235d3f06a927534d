// launch: n = 0, 1, 5, 12; m = 0, 3
// control: the products are rounded explicitly
extern "C" __global__ void fma_product_rn(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float p[12];
    for (int i = 0; i < n; ++i) p[i] = __fmul_rn(in[t * 12 + i], in[t * 12 + i + 1]);
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = __fadd_rn(s, p[i]);
    for (int i = 0; i < n; ++i) s = __fadd_rn(__fmul_rn(s, 0.5f), p[n - 1 - i]);
    out[t] = s;
}
