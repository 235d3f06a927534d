// launch: n = 1, 5, 12; m = 0, 3
#include "macro_continue_in_helper.h"
// require_or_next is defined in the header, in lower case, and is a continue
extern "C" __global__ void macro_continue_in_helper(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    for (int i = 0; i < n; i++) {
        const float x = in[t * 12 + i];
        require_or_next(x > 0.0f);
        a[order[t * 12 + i] % 12] += x;
        require_or_next(x > 0.5f);
        a[i] = -x;
    }
    for (int i = 0; i < 12; ++i) out[t * 12 + i] = a[i];
}
