// launch: n = 1, 5, 12; m = 0, 3
// control: launch bounds say 128 threads
extern "C" __launch_bounds__(128) __global__ void launch_bounds_honest(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int hist[16] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 12 + i] & 15] += i + 1;
    int s = 0;
    for (int k = 0; k < 16; ++k) s = (s * 3 + hist[k]) & 0xfffff;
    out[t] = (float)s;
}
