#include "../include/walk.cuh"

template <int Scale> __global__ void walk_two(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = walked(in + i) * Scale;
}
template __global__ void walk_two<2>(const float *, float *);
template __global__ void walk_two<3>(const float *, float *);
