// launch: n = 0, 1, 12, 64; m = 0, 3
// control
extern "C" __global__ void ctl_histogram_bounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x;
    short hist[24] = {};
    for (int i = 0; i < n; ++i) hist[(order[t * 64 + i] + lane) % 24] += i;
    for (int k = 0; k < 24; ++k) out[t * 24 + k] = (float)hist[k];
}
