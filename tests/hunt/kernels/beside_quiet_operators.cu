// launch: n = 0, 3, 8; m = 0, 5
// a header's operators are no reason to leave a loop
#include "beside_classes.cuh"
extern "C" __global__ void beside_quiet_operators(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float ring[8];
    for (int i = 0; i < n; ++i) ring[i] = in[t + i] * 2.0f;
    float total = 0;
    for (unsigned j = 0; j < m; ++j) {
        for (int i = 0; i < n; ++i) total += weigh(ring[i] * in[j + i], j);
    }
    Pair both = Pair(total, 1) + Pair(in[t], 2);
    out[t] = both.x;
}
