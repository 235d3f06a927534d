// launch: n = 1, 5, 12; m = 0, 3
// the rounding error of a product, and twice a product
__device__ __noinline__ void product(const float* a, float* p) { p[0] = a[0] * a[1]; p[1] = a[0] * a[1]; p[2] = p[0] + p[0]; }
extern "C" __global__ void doubled_products(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int i = 0; i < n; ++i) {
        float a[2] = {in[t + i], in[t + i + 1]}, p[3];
        product(a, p);
        s += p[2] + (__fmaf_rn(a[0], a[1], -p[0]) + (p[1] - __fmul_rn(a[0], a[1]))) * 1e7f;
    }
    out[t] = s;
}
