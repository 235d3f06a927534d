// launch: n = 1, 64; m = 0, 3, 8
// a header lets other builds have a larger limit
#include "macro_of_a_header_differs.cuh"
extern "C" __global__ void macro_of_a_header_differs(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int w[8];
    int taps = (int)m;
    taps = min(taps, MOST_TAPS);
    for (int j = 0; j < 8; ++j) w[j] = order[t * 8 + j] * 2 + 1;
    int s = 0;
    for (int r = 0; r < 64; ++r) {
        int x = order[r], y = 0;
#pragma unroll 1
        for (int j = 0; j < taps; ++j) { if (order[j] > 1000000000) y += order[j]; else y += w[j] * x; }
        s = s * 3 + y + x;
    }
    out[t] = s;
}
