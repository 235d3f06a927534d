// launch: n = 1, 64; m = 0, 3, 8
// a method of the object that has the bound raises it, behind the loop that shows it
#include "bound_raised_by_method.cuh"
extern "C" __global__ void bound_raised_by_method(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int w[8];
    int taps = (int)m;
    Count c{taps};
    for (int j = 0; j < 8; ++j) w[j] = order[t * 8 + j] * 2 + 1;
    for (int j = 0; j < c.m; ++j) w[j] += order[j];
    c.up(n + order[0]);
    int s = 0;
    for (int r = 0; r < 64; ++r) {
        int x = order[r], y = 0;
#pragma unroll 1
        for (int j = 0; j < c.m; ++j) { if (order[j] > 1000000000) y += order[j]; else y += w[j] * x; }
        s = s * 3 + y + x;
    }
    out[t] = s;
}
