// launch: n = 1, 5, 12; m = 0, 3
// one helper with a histogram, two kernels: bounds of 64 for the one (launched elsewhere) and any size for the other
static __device__ float spread(const float* src, const int* order, int n)
{
    float hist[16] = {};
    for (int i = 0; i < n; ++i) hist[order[i] & 15] += src[i];
    float s = 0.0f;
    for (int k = 0; k < 16; ++k) s = s * 0.5f + hist[k];
    return s;
}
extern "C" __launch_bounds__(64) __global__ void two_block_sizes_small(const float* in, const int* order, float* out)
{
    out[threadIdx.x] = spread(in + threadIdx.x * 64, order + threadIdx.x * 64, 64);
}
extern "C" __global__ void two_block_sizes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * t] = spread(in + t * 12, order + t * 12, n);
    out[2 * t + 1] = spread(in + t * 12 + 3, order + t * 12 + 1, n / 2) - spread(in + t, order + t, 1);
}
