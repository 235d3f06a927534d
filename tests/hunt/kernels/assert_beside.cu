// launch: n = 1, 5; m = 0, 3, 50
// what ends the whole kernel is no reason to leave the flags
#include <cassert>
extern "C" __global__ void assert_beside(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[32] = {};
    int found = 0;
    assert(n > 0);
    for (unsigned s = 0; s < m; s++) {
        int p = order[t + s] & 31;
        if (!seen[p]) found++;
        seen[p] = true;
    }
    out[t] = found + in[t];
}
