#pragma once
__device__ inline float stop(float x) { if (__float_as_uint(x) * 2654435761u == 0x1234567u) __trap(); return x; }
struct A { const float* p; };
__device__ float g0[4096];
__device__ inline float f(float a, float b = stop(g0[threadIdx.x])) { return a + b; }
