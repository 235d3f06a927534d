// launch: n = 0, 1, 5, 12; m = 0, 3
// products written at a dynamic index and subtracted from the product itself: zero unless fused
extern "C" __global__ void fma_dynamic_select(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float p[10] = {};
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 12 + i] % 10;
        const float x = in[t * 12 + i], y = in[t * 12 + i + 1];
        p[k] = x * y;
        s += p[(k + i) % 10] - 0.3f;
        p[(k + 1) % 10] += x;
    }
    for (int k = 0; k < 10; ++k) s = s * 0.5f + p[k];
    out[t] = s * 1048576.0f;
}
