// launch: n = 1, 5, 12; m = 0, 3
// half of the threads leave before; then no barrier may be added behind (there is none now)
extern "C" __global__ void early_return_before_barrier(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = -5.0f;
    if (order[t] & 1) return;
    float hist[16] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 12 + i] & 15] += in[t * 12 + i];
    float s = 0.0f;
    for (int k = 0; k < 16; ++k) s = s * 0.5f + hist[k];
    out[t] = s;
}
