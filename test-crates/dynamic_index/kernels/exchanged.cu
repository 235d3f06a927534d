// Indices and pointers that one word does not describe.

// Two buffers whose pointers a loop exchanges: which of them is written is known at run time only.
extern "C" __global__ void relax(const float *in, float *out, int rounds) {
    float even[8]; //~ dynamic_index
    float odd[8]; //~ dynamic_index
    float *before = even, *after = odd;
#pragma unroll
    for (int k = 0; k < 8; ++k) before[k] = in[k * 64 + threadIdx.x];
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 8; ++k) after[k] = 0.5f * (before[k] + before[(k + 1) % 8]);
        float *other = before;
        before = after;
        after = other;
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += before[k];
    out[threadIdx.x] = sum;
}

struct Flags {
    unsigned words[12];
    __device__ bool get(int bit) const { return words[bit >> 5] >> (bit & 31) & 1; }
    __device__ void flip(int bit) { words[bit >> 5] ^= 1u << (bit & 31); }
};

// All threads look at the same flags, and each one flips its own.
extern "C" __global__ void parity(const int *order, const int *own, int *out, int n) {
    Flags flags{}; //~ dynamic_index
    int count = 0;
    for (int k = 0; k < n; ++k) {
        for (int j = 0; j < n; ++j) count += flags.get(order[j]);
        flags.flip(own[k * 64 + threadIdx.x]);
    }
    out[threadIdx.x] = count;
}

// Threads go through as many elements as they have, all in the same order. The compiler unrolls the loop, and in the rest
// threads are at different elements.
extern "C" __global__ void butterfly(const int *in, const int *lengths, int *out) {
    int list[32]; //~ dynamic_index
    int length = 1;
    while (length < lengths[threadIdx.x]) length <<= 1;
    for (int i = 0; i < length; ++i) list[i] = in[i * 64 + threadIdx.x];
    for (int stride = 1; stride < length; stride <<= 1)
        for (int i = 0; i < length; ++i) list[i] += list[i ^ stride] * i;
    int sum = 0;
    for (int i = 0; i < length; ++i) sum = sum * 3 + list[i];
    out[threadIdx.x] = sum;
}
