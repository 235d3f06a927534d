#pragma once

// N values that depend on each other, all alive at a time.
template <int N>
__device__ __forceinline__ void mix(const float *in, float *out, int rounds) {
    float value[N];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < N; ++k) value[k] = in[k * 4096 + i];
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < N; ++k) value[k] = fmaf(value[k], value[(k + 7) % N], value[(k * 5 + 3) % N]);
    }
#pragma unroll
    for (int k = 0; k < N; ++k) out[k * 4096 + i] = value[k];
}
