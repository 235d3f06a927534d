// The file is compiled with -maxrregcount=40.

#include "mix.cuh"

#define BLOCK 256

// 256 threads may have 255 registers each.
__global__ void held_back(const float *in, float *out, int rounds) { //~ missing_launch_bounds
    mix<48>(in, out, rounds);
}

// The bound overrides the flag.
__global__ void __launch_bounds__(BLOCK) set_free(const float *in, float *out, int rounds) {
    mix<48>(in, out, rounds);
}

// It has no use for more.
__global__ void content(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

// Nobody launches it here.
__global__ void launched_elsewhere(const float *in, float *out, int rounds) { mix<48>(in, out, rounds); }

void run(const float *in, float *out, int n, int blocks, cudaStream_t stream) {
    held_back<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(in, out, n);
    set_free<<<blocks, BLOCK>>>(in, out, n);
    content<<<blocks, BLOCK>>>(in, out, n);
}
