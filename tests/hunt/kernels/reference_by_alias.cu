// launch: n = 1, 64; m = 0, 3, 8
// a reference by the name of a type writes the bound
#include "reference_by_alias.cuh"
extern "C" __global__ void reference_by_alias(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int w[8];
    int taps = (int)m;
    Ref other = taps;
    for (int j = 0; j < 8; ++j) w[j] = order[t * 8 + j] * 2 + 1;
    for (int j = 0; j < taps; ++j) w[j] += order[j];
    if ((unsigned)(n + order[0]) * 2654435761u == 0x1234567u) other += 3;
    int s = 0;
    for (int r = 0; r < 64; ++r) {
        int x = order[r], y = 0;
#pragma unroll 1
        for (int j = 0; j < taps; ++j) { if (order[j] > 1000000000) y += order[j]; else y += w[j] * x; }
        s = s * 3 + y + x;
    }
    out[t] = s;
}
