// launch: n = 0, 3, 64; m = 0, 3
// control: histogram, launch bounds given
extern "C" __launch_bounds__(128) __global__ void histogram_plain(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hist[16];
    for (int k = 0; k < 16; ++k) hist[k] = 0;
    for (int i = 0; i < n; ++i) ++hist[order[t * 64 + i] & 15];
    for (int k = 0; k < 16; ++k) out[t * 16 + k] = (float)hist[k];
}
