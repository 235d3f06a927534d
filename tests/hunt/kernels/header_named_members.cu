// launch: n = 0, 3, 12; m = 0
// a header's class has a member of the same name, of class type
#include "header_named_types.cuh"
struct Own { int key; };
extern "C" __global__ void header_named_members(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[32] = {};
    int bin[6] = {};
    int s = 0;
    for (int i = 0; i < n; ++i) {
        const Arguments arguments = {{order[t + i] & 31}};
        const Arguments few = {{order[t + i + 1] % 6}};
        if (!seen[arguments.key]) s += i + 1;
        seen[arguments.key] = true;
        bin[few.key] += i;
    }
    for (int k = 0; k < 32; ++k) s = s * 3 + seen[k];
    for (int k = 0; k < 6; ++k) s = s * 5 + bin[k];
    out[t] = (float)(s & 0xffff);
}
