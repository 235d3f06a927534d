// launch: n = 1, 64; m = 0, 3, 8
// an operator writes the bound that it gets by reference
#include "bound_read_by_operator.cuh"
extern "C" __global__ void bound_read_by_operator(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int w[8];
    int taps = (int)m;
    for (int j = 0; j < 8; ++j) w[j] = order[t * 8 + j] * 2 + 1;
    for (int j = 0; j < taps; ++j) w[j] += order[j];
    From{n + order[0]} >> taps;
    int s = 0;
    for (int r = 0; r < 64; ++r) {
        int x = order[r], y = 0;
#pragma unroll 1
        for (int j = 0; j < taps; ++j) { if (order[j] > 1000000000) y += order[j]; else y += w[j] * x; }
        s = s * 3 + y + x;
    }
    out[t] = s;
}
