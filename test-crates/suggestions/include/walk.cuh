#pragma once

// Two files include this: an edit must hold in both.
__device__ inline float walked(const float *in) {
    float part[16]; //~ rolled_loop
#pragma unroll 1
    for (int k = 0; k < 16; ++k) part[k] = in[k] * in[k];
    float sum = 0.0f;
#pragma unroll 2
    for (int k = 15; k >= 0; --k) sum = sum * 0.5f + part[k];
    return sum;
}
