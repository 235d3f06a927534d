// launch: n = 0, 1, 5, 12; m = 0, 3
// two products: without volatile a*b - c*d is fused and not zero for equal products
extern "C" __global__ void volatile_product(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float a = in[t * 12 + i], b = in[t * 12 + i + 1];
        volatile float left = a * b;
        const float right = b * a;
        s += (left - right) * 1e9f + left;
    }
    out[t] = s;
}
