// launch: n = 0, 1, 5; m = 0, 3
// the rounding error of a product: inlined, the product may be fused into the difference that is zero by construction
__device__ __noinline__ float product(float a, float b) { return a * b; }
__device__ __noinline__ void two(float* r, float a, float b) { r[0] = a * b; r[1] = a; }
extern "C" __global__ void product_error_of_call(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float a = in[t * 12 + i], b = in[t * 12 + i + 1];
        float r[2];
        two(r, a, b);
        s += (r[0] - product(a, b)) * 1e10f + r[1];
    }
    out[t] = s;
}
