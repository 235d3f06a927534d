// launch: n = 1, 3, 5; m = 0, 3
// forced to 32 registers by (256, 8): spills
extern "C" __launch_bounds__(256, 8) __global__ void spill_bounds_tight(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[40];
#pragma unroll
    for (int k = 0; k < 40; ++k) v[k] = in[t * 40 + k];
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        const float x = in[t + i * 7];
#pragma unroll
        for (int k = 0; k < 40; ++k) v[k] = v[k] * x + v[(k + 1) % 40];
    }
#pragma unroll
    for (int k = 0; k < 40; ++k) out[t * 40 + k] = v[k];
}
