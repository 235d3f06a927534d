// launch: n = 0, 1, 5, 12; m = 0, 3
// the products are rounded when they go through memory; fused with the sum they are not
extern "C" __global__ void fma_product_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float p[12];
    for (int i = 0; i < n; ++i) p[i] = in[t * 12 + i] * in[t * 12 + i + 1];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += p[i];
    out[t] = s;
}
