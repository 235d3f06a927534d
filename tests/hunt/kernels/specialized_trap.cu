// launch: n = 1; m = 0, 3, 8
// the instance that is called is another function than the template
#include "specialized_trap.cuh"
extern "C" __global__ void specialized_trap(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    for (int j = 0; j < (int)m; ++j) { w[j] = f<3>(in[t + j]); }
    float s = 0;
    for (int r = 0; r < 64; ++r) {
        float x = in[r], y = 0;
        for (int j = 0; j < (int)m; ++j) y += w[j] * x;
        s = s * y + x;
    }
    out[t] = s;
}
