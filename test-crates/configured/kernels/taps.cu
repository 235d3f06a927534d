#include "taps.cuh"

// `TAPS` comes from `defines`, its header from `include-dirs`.
extern "C" __global__ void delay_line(const float *in, const int *delay, float *out, int n) {
    float line[TAPS]; //~ dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) line[k] = 0.0f;
    for (int step = 0; step < n; ++step) {
        line[delay[step * 256 + i] % TAPS] += in[step * 256 + i];
    }
#pragma unroll
    for (int k = 0; k < TAPS; ++k) out[k * 256 + i] = line[k];
}

// A rolled loop, which this package allows.
extern "C" __global__ void running_sums(const float *in, float *out, int count) {
    float line[TAPS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0.0f;
    for (int k = 0; k < count; ++k) {
        line[k] = in[k * 256 + i];
        total += line[k];
    }
    for (int k = 0; k < count; ++k) out[k * 256 + i] = line[k] / total;
}
