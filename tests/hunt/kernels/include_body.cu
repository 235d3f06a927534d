// launch: n = 0, 1, 5, 12; m = 0, 3
// the body of the loop is included
extern "C" __global__ void include_body(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], s = 0.0f;
    int i;
    for (i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    for (i = 0; i < n; ++i)
#include "include_body_inner.h"
    out[t] = s + i;
}
