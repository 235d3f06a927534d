#pragma once

template <int N>
__device__ void mix(const float *in, float *out, int rounds) {
    float value[N];
#pragma unroll
    for (int k = 0; k < N; ++k) value[k] = in[k * blockDim.x + threadIdx.x];
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < N; ++k) value[k] = fmaf(value[k], value[(k + 7) % N], 0.5f);
    }
#pragma unroll
    for (int k = 0; k < N; ++k) out[k * blockDim.x + threadIdx.x] = value[k];
}

// A kernel of a header.
// lmem: budget(registers <= 4)
static __global__ void of_header(const float *in, float *out) { //~ budget_exceeded
    out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x + 32];
}
static const void *const kept = reinterpret_cast<const void *>(&of_header);
