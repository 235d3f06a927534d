// Bounds, and the launches that they are for.

#define THREADS 256

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

// All launches are of 256 threads, which may have 255 registers each.
__global__ void __launch_bounds__(1024) cautious(const float *in, float *out, int rounds) { //~ register_spill
    mix<64>(in, out, rounds);
}

// The same with the bound that fits.
__global__ void __launch_bounds__(THREADS) exact(const float *in, float *out, int rounds) {
    mix<64>(in, out, rounds);
}

// One launch is as large as the bound says.
__global__ void __launch_bounds__(1024) needed(const float *in, float *out, int rounds) { //~ register_spill
    mix<64>(in, out, rounds);
}

// ptxas leaves most of the 128 registers unused that a block of 512 could have.
__global__ void __launch_bounds__(512) shy(const float *in, float *out, int rounds) { //~ register_spill
    mix<200>(in, out, rounds);
}

// The number of blocks, though it says nothing new, helps.
__global__ void __launch_bounds__(512, 1) bold(const float *in, float *out, int rounds) { //~ register_spill
    mix<200>(in, out, rounds);
}

void run(const float *in, float *out, int rounds, int blocks, bool is_large) {
    dim3 block(THREADS);
    cautious<<<blocks, block>>>(in, out, rounds);
    cautious<<<blocks, THREADS / 2>>>(in, out, rounds);
    exact<<<blocks, block>>>(in, out, rounds);
    if (is_large) {
        needed<<<blocks, 1024>>>(in, out, rounds);
    } else {
        needed<<<blocks, block>>>(in, out, rounds);
    }
    shy<<<blocks, 512>>>(in, out, rounds);
    bold<<<blocks, 512>>>(in, out, rounds);
}
