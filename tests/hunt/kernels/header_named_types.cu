// launch: n = 0, 3, 12; m = 0
// a header gives a library's name for a number to a class with operators
#include "header_named_types.cuh"
extern "C" __global__ void header_named_types(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[32] = {};
    int s = 0;
    for (int i = 0; i < n; ++i) {
        const longlong at{order[t + i] & 31};
        if (!seen[at]) s += i + 1;
        seen[at] = true;
    }
    for (int k = 0; k < 32; ++k) s = s * 3 + seen[k];
    out[t] = (float)(s & 0xffff);
}
