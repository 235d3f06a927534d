// What an inlined function reads belongs to the variable of its caller, though that is not in scope there; the index of an
// element is a part of no element.
__device__ inline unsigned turned(unsigned word, int by) { return __funnelshift_r(word, word, by); }

__global__ void __launch_bounds__(256, 6) mixed(const unsigned *__restrict__ in, unsigned *__restrict__ out, //~ register_spill
                                                int n, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned word[40];
#pragma unroll
    for (int k = 0; k < 40; ++k) word[k] = in[t + k * n];
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 40; ++k) word[k] += turned(word[(k + 1) % 40], 7) ^ turned(word[(k + 9) % 40], 18);
    }
#pragma unroll
    for (int k = 0; k < 40; ++k) out[t + k * n] = word[k];
}
