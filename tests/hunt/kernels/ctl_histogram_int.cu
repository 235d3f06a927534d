// launch: n = 0, 1, 12, 64; m = 0, 3
// control
extern "C" __global__ void ctl_histogram_int(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int hist[8] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 64 + i] & 7]++;
    for (int k = 0; k < 8; ++k) out[t * 8 + k] = (float)hist[k];
}
