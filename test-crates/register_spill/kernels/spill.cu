// The same sums under different limits.

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

// 65536 / (256 × 5) leaves 48 registers.
__global__ void __launch_bounds__(256, 5) five_blocks(const float *in, float *out, int rounds) { //~ register_spill
    mix<48>(in, out, rounds);
}

// 65536 / (256 × 3) leaves 80: enough.
__global__ void __launch_bounds__(256, 3) three_blocks(const float *in, float *out, int rounds) {
    mix<48>(in, out, rounds);
}

// A block of 1024 threads is more than is ever launched.
__global__ void __launch_bounds__(1024) large_block(const float *in, float *out, int rounds) { //~ register_spill
    mix<64>(in, out, rounds);
}

__global__ void __maxnreg__(32) thirty_two(const float *in, float *out, int rounds) { //~ register_spill
    mix<32>(in, out, rounds);
}

// More live values than registers exist: the array would be rolled into memory if it were not unrolled.
__global__ void __launch_bounds__(256) all_registers(const float *in, float *out, int rounds) { //~ register_spill
    mix<280>(in, out, rounds);
}

// Nothing limits this one.
__global__ void no_bounds(const float *in, float *out, int rounds) {
    mix<48>(in, out, rounds);
}
