// launch: n = 0, 5, 12; m = 0, 3
// the product of two sums without parentheses is another number: 2 + 1 * 2 + 1
#define SIDE 2 + 1
extern "C" __global__ void macro_product_without_parentheses(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float h[SIDE * SIDE + 5] = {};
    for (int i = 0; i < n; ++i) h[order[t * 12 + i] % (SIDE * SIDE + 5)] += in[t * 12 + i];
    float s = m;
    for (int k = 0; k < SIDE * SIDE + 5; ++k) s = s * 0.5f + h[k];
    out[t] = s;
}
