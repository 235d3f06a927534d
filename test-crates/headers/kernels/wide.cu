#include "vote.cuh"
#include "window.cuh"

template __global__ void vote<12>(const int *, int *, int);
template __global__ void vote<24>(const int *, int *, int);
template __global__ void vote_compared<24>(const int *, int *, int);

__global__ void smooth_wide(const float *in, const int *order, float *out, int rounds) {
    Window<40> window; //~ dynamic_index
    window.fill(in + threadIdx.x, 32);
    for (int round = 0; round < rounds; ++round) {
        window.add(order[round * 32 + threadIdx.x], 0.5f);
    }
    out[threadIdx.x] = window.sum();
}
