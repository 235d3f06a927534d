// launch: n = 1, 64; m = 0, 3
// The number of the bounds is that of the code, too.
#define BLOCKS 8
extern "C" __global__ void __launch_bounds__(256, BLOCKS) bounds_named_and_used_elsewhere(const float* in, const int* order, float* out, int n, unsigned m) {
    float acc[40];
#pragma unroll
    for (int j = 0; j < 40; ++j) acc[j] = in[j];
    for (int t = 0; t < n; ++t) {
#pragma unroll
        for (int j = 0; j < 40; ++j) acc[j] = acc[j] * in[t + 40] + acc[(j + 1) % 40] * BLOCKS;
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 40; ++j) sum += acc[j];
    out[threadIdx.x] = sum;
}
