// launch: n = 3, 7, 12; m = 0, 3
// the header has set TAPS to 12 already: the 8 below is not what counts
#include "header_defines_first.h"
#ifndef TAPS
#define TAPS 8
#endif
extern "C" __global__ void header_defines_first(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[TAPS];
    for (int i = 0; i < n; ++i) w[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + w[order[t * 12 + i] % n];
    out[t] = s;
}
