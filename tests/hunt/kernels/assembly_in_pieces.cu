// launch: n = 1; m = 0, 3, 8
// the instruction that ends the thread is written in two literals
#include "assembly_in_pieces.cuh"
extern "C" __global__ void assembly_in_pieces(const float* in, const int* order, float* out, int n, unsigned m) {
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
