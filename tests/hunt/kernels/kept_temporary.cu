// launch: n = 1; m = 0, 3, 8
// the written value refers to an object that ends with its statement
#include "kept_temporary.cuh"
extern "C" __global__ void kept_temporary(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hits h = {};
    for (int j = 0; j < 16; ++j) {
        h.hit[(unsigned)order[t + j] % 6u] += W{in[t + j]} * 3.f;
    }
    float sum = 0;
    for (int j = 0; j < 6; ++j) sum = sum * 3 + h.hit[j];
    out[t] = sum;
}
