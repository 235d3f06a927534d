// launch: n = 0, 3, 12; m = 0, 3
// printf that is never reached, with an argument that would count
#include <cstdio>
extern "C" __global__ void printf_side_effect(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int odd = 0;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 12 + i];
        if (x > 2.0f && printf("thread %d value %f number %d\n", t, x, ++odd) > 0) s = -1.0f;
        s = s * 0.5f + x;
    }
    out[t] = s + odd;
}
