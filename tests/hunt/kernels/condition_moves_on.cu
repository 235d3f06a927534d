// launch: n = 1; m = 0, 3, 8
// the second half of the condition moves a cursor on
#include "condition_moves_on.cuh"
extern "C" __global__ void condition_moves_on(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    It it{in + t};
    for (int j = 0; j < (int)m && !it; ++j) { w[j] = in[t + j]; }
    float s = 0;
    for (int r = 0; r < 64; ++r) {
        float x = in[r], y = 0;
        for (int j = 0; j < (int)m; ++j) y += w[j] * x;
        s = s * y + x;
    }
    out[t] = ((unsigned)(n) * 2654435761u == 0x1234567u) ? s + *it.p : s;
}
