// launch: n = 1, 5, 12; m = 0, 3
// THREADS is 64 where the bounds are given away, and 256 in the attribute
#define THREADS 256
extern "C" __launch_bounds__(THREADS) __global__ void launch_bounds_macro(const float* in, const int* order, float* out, int n, unsigned m)
#undef THREADS
#define THREADS 64
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int hist[16] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 12 + i] & 15] += i + 1 + THREADS;
    int s = 0;
    for (int k = 0; k < 16; ++k) s = (s * 3 + hist[k]) & 0xfffff;
    out[t] = (float)s;
}
