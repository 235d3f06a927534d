// launch: n = 0, 3, 12; m = 0, 3
// reference out-parameters that alias: both are the same variable in one call
static __device__ __noinline__ void step(float& a, float& b, float x) { a += x; b = b * 0.5f + a; a = a - b; }
extern "C" __global__ void noinline_out_parameters(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float p = 1.0f, q = 2.0f;
    for (int i = 0; i < n; ++i) {
        step(p, q, in[t * 12 + i]);
        if (order[t * 12 + i] & 1) step(q, q, 0.25f);
        else step(q, p, 0.5f);
    }
    out[2 * t] = p;
    out[2 * t + 1] = q;
}
