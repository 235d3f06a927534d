// launch: n = 1; m = 0, 3, 8
// what a default argument calls is seen at no call
#include "default_argument_trap.cuh"
extern "C" __global__ void default_argument_trap(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    for (int j = 0; j < (int)m; ++j) { g0[threadIdx.x] = in[t + j]; w[j] = f(1.f); }
    float s = 0;
    for (int r = 0; r < 64; ++r) {
        float x = in[r], y = 0;
        for (int j = 0; j < (int)m; ++j) y += w[j] * x;
        s = s * y + x;
    }
    out[t] = s;
}
