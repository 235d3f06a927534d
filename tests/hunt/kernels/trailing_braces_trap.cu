// launch: n = 1; m = 0, 3, 8
// braces in the type that a function returns are not its body
#include "trailing_braces_trap.cuh"
extern "C" __global__ void trailing_braces_trap(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    for (int j = 0; j < (int)m; ++j) { w[j] = stop(in[t + j]); }
    float s = 0;
    for (int r = 0; r < 64; ++r) {
        float x = in[r], y = 0;
        for (int j = 0; j < (int)m; ++j) y += w[j] * x;
        s = s * y + x;
    }
    out[t] = s;
}
