// Tables of constants that every thread fills for itself, and arrays that only start as such.

#include "bits.cuh"

// A zigzag, as image codecs have it.
__global__ void unzigzag(const short *in, const unsigned char *at, short *out) {
    const unsigned char zigzag[64] = { //~ constant_table
        0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
        41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
        30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[blockIdx.x * 64 + zigzag[at[i] & 63]] = in[i];
}

// The same table, once for all threads.
__global__ void unzigzag_static(const short *in, const unsigned char *at, short *out) {
    static constexpr unsigned char zigzag[64] = {
        0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
        41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
        30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[blockIdx.x * 64 + zigzag[at[i] & 63]] = in[i];
}

// A walk with as many steps as the caller wants; the weights do not say `const`, and never change.
__global__ void blur(const float *in, float *out, int radius) {
    float weight[9] = {0.05f, 0.09f, 0.12f, 0.15f, 0.18f, 0.15f, 0.12f, 0.09f, 0.05f}; //~ constant_table
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; ++k) sum += weight[k + 4] * in[i + k];
    out[i] = sum;
}

struct Rule {
    int from;
    float weight;
    char kind;
};

// A table of structures.
__global__ void rewrite(const int *in, float *out) {
    const Rule rule[6] = { //~ constant_table
        {1, 0.5f, 'a'}, {2, 0.25f, 'b'}, {3, 0.1f, 'a'}, {4, 0.2f, 'c'}, {5, 0.7f, 'b'}, {6, 0.8f, 'a'}};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = in[i] % 6;
    out[i] = rule[k].kind == 'a' ? rule[k].weight * rule[k].from : rule[k].weight;
}

// Filled by a loop that the compiler turns into constants, in two dimensions.
template <int Rows> __global__ void products(const int *in, int *out, int n) {
    int table[Rows][8]; //~ constant_table
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < 8; ++c) table[r][c] = (r + 2) * (c + 3);
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = table[in[i] % Rows][in[i] & 7];
}
template __global__ void products<4>(const int *, int *, int);
template __global__ void products<6>(const int *, int *, int);

// In an inlined function of a header.
__global__ void population(const unsigned *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = bits_of(in[i]) + bits_of(in[i] >> 8) + bits_of(in[i] >> 16);
}

__device__ __noinline__ int step_of(const int *steps, int k) { return steps[k % 20] - steps[k % 3]; }

// Given to a function that only reads it.
__global__ void quantise(const int *in, int *out) {
    const int steps[20] = {7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45}; //~ constant_table
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = step_of(steps, in[i]);
}

// Constants are where it starts: counters.
__global__ void histogram(const int *in, int *out, int n) {
    int count[16] = {}; //~ dynamic_index
    for (int i = threadIdx.x; i < n; i += blockDim.x) count[in[i] & 15] += 1;
    for (int j = 0; j < 16; ++j) atomicAdd(&out[j], count[j]);
}

// Constants alone are stored, but where, only the data tells.
__global__ void distinct(const int *in, int *out, int n) {
    bool seen[64] = {}; //~ dynamic_index
    for (int i = 0; i < n; ++i) seen[in[i] & 63] = true;
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += seen[i];
    out[threadIdx.x] = sum + seen[n & 63];
}

// One element is replaced by data.
__global__ void with_default(const int *in, int *out, int n) {
    int value[20] = {5, 3, 8, 1, 9, 2, 7, 4, 6, 0, 15, 13, 18, 11, 19, 12, 17, 14, 16, 10}; //~ dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    value[7] = n;
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += value[(in[i + k] & 0x7fffffff) % 20] * value[(in[i + 2 * k] & 0x7fffffff) % 20];
    out[i] = sum;
}

// One element depends on a condition.
__global__ void either(const int *in, int *out, int n) {
    int value[32] = {5, 3, 8, 1, 9, 2, 7, 4, 6, 0, 15, 13, 18, 11, 19, 12, //~ dynamic_index
                     17, 14, 16, 10, 25, 23, 28, 21, 29, 22, 27, 24, 26, 20, 31, 30};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n > 100) value[7] = 99;
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += value[in[i + k] & 31] * value[in[i + 2 * k] & 31];
    out[i] = sum;
}

// Two tables that are never alive together share a place.
__global__ void two_keys(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n > 3) {
        const int low[24] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4};
        out[i] = low[in[i] % 24];
    } else {
        const int high[24] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5, 2, 3, 5, 3, 6, 0, 2, 8}; //~ constant_table
        out[i] = high[in[i] % 24] + high[in[i + 1] % 24];
    }
}

__constant__ float coefficients[40];

// A copy of constant memory.
__global__ void staged(const int *in, float *out) {
    float taps[40]; //~ constant_table
    for (int k = 0; k < 40; ++k) taps[k] = coefficients[k];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = taps[in[i] % 40];
}

// Addresses of shared memory are the block's, and no constants: `static` would not compile.
__global__ void __launch_bounds__(64) staged_tiles(const float *in, float *out, int n) {
    __shared__ float a[64], b[64], c[64];
    float *tile[3] = {a, b, c}; //~ dynamic_index
    for (int k = 0; k < n; ++k) {
        float *now = tile[k % 3];
        now[threadIdx.x] = in[k * 64 + threadIdx.x];
        __syncthreads();
        out[k * 64 + threadIdx.x] = now[63 - threadIdx.x] + tile[(k + 1) % 3][threadIdx.x];
    }
}
