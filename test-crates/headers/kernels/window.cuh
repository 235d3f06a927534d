#pragma once

// A window of samples, declared here and used in the `.cu` files.
template <int N>
struct Window {
    float sample[N];
    __device__ __forceinline__ void fill(const float *in, int stride) {
#pragma unroll
        for (int k = 0; k < N; ++k) sample[k] = in[k * stride];
    }
    __device__ __forceinline__ void add(int at, float value) { sample[at] += value; }
    __device__ __forceinline__ float sum() const {
        float total = 0.0f;
#pragma unroll
        for (int k = 0; k < N; ++k) total += sample[k];
        return total;
    }
};
