// Launch bounds that are written elsewhere than as two numbers in the kernel's head.

template <int N>
__device__ __forceinline__ void stir(const float *in, float *out, int rounds) {
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

#define THREADS 256
#define BLOCKS (65536 / (THREADS * 40))
#define OWN_BOUNDS __launch_bounds__(THREADS, BLOCKS)
#define SHARED_BOUNDS __launch_bounds__(THREADS, 6)

// The macro is this kernel's alone.
__global__ void OWN_BOUNDS in_macro(const float *in, float *out, int rounds) { //~ register_spill
    stir<48>(in, out, rounds);
}

// Another kernel has the same bounds, and needs no more registers.
__global__ void SHARED_BOUNDS in_shared_macro(const float *in, float *out, int rounds) { //~ register_spill
    stir<48>(in, out, rounds);
}

__global__ void SHARED_BOUNDS beside(const float *in, float *out, int rounds) {
    stir<8>(in, out, rounds);
}

template <int N>
constexpr int min_blocks() { return N < 64 ? 6 : 4; }

// The only instance: no other has another number.
template <int N>
__global__ void __launch_bounds__(THREADS, min_blocks<N>()) in_template(const float *in, float *out, int rounds) { //~ register_spill
    stir<N>(in, out, rounds);
}
template __global__ void in_template<48>(const float *, float *, int);
