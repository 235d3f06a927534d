// launch: n = 0, 1, 12, 64; m = 0, 3
// control
extern "C" __global__ void ctl_histogram_float(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float hist[16] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 64 + i] & 15] += in[t * 64 + i];
    for (int k = 0; k < 16; ++k) out[t * 16 + k] = hist[k];
}
