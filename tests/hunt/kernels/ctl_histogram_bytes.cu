// launch: n = 0, 1, 12, 64; m = 0, 3
// control
extern "C" __global__ void ctl_histogram_bytes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char hist[32];
    for (int k = 0; k < 32; ++k) hist[k] = 0;
    for (int i = 0; i < n; ++i) hist[order[t * 64 + i] & 31] += 5;
    for (int k = 0; k < 32; ++k) out[t * 32 + k] = (float)hist[k];
}
