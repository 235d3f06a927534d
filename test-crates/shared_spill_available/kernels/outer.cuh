#pragma once

__device__ __noinline__ void report(int n) { asm volatile("{ // %0\n\t}" ::"r"(n)); }

__device__ __forceinline__ void outer_product(const float *a, const float *b, float *c, int n) {
    float acc[16][16];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int i = 0; i < 256; ++i) acc[i / 16][i % 16] = 0.0f;
    for (int k = 0; k < n; ++k) {
        float x[16], y[16];
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            x[i] = a[(t * 16 + i) * n + k];
            y[i] = b[(t * 16 + i) * n + k];
        }
#pragma unroll
        for (int i = 0; i < 256; ++i) acc[i / 16][i % 16] += x[i / 16] * y[i % 16];
    }
#pragma unroll
    for (int i = 0; i < 256; ++i) c[t * 256 + i] = acc[i / 16][i % 16];
}
