// launch: n = 1, 3; m = 0, 3
// a hook in global memory holds no function with a row, but one that calls it by name
static __device__ float hooked(const float* src, const int* order, int depth);
static __device__ float (*hook)(const float*, const int*, int) = hooked;
static __device__ float measure(const float* src, const int* order, int depth)
{
    float row[20];
    for (int i = 0; i < 20; ++i) row[i] = src[i];
    row[order[depth] % 20] += 1.0f;
    if (depth > 0) row[depth] += hook(src + 20, order + 1, depth - 1);
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.5f + row[order[i] % 20];
    return s;
}
static __device__ float hooked(const float* src, const int* order, int depth)
{
    return measure(src, order, depth) * 0.5f + measure(src + 1, order + 1, 0);
}
extern "C" __global__ void __launch_bounds__(128) reentry_hook(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = measure(in + t * 128, order + t * 32, n);
}
