// memcpy of a part, element by element.
// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void copy_bytes(const unsigned *in, unsigned *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned words[8], copy[8];
    for (int k = 0; k < 8; ++k) { words[k] = in[i * 8 + k]; copy[k] = k; }
    const int count = n & 7;
#if V == 0
    memcpy(copy, words, count * sizeof(unsigned));
#elif V == 1
#pragma unroll
    for (int k = 0; k < 8; ++k) if (k < count) copy[k] = words[k];
#elif V == 2
#pragma unroll
    for (int k = 0; k < 7; ++k) { if (k >= count) break; copy[k] = words[k]; }
#elif V == 51
#pragma unroll
    for (int k = 0; k < 8; ++k) if (k <= count) copy[k] = words[k];
#elif V == 52
#pragma unroll
    for (int k = 0; k < 6; ++k) if (k < count) copy[k] = words[k];
#elif V == 53
#pragma unroll
    for (int k = 0; k < 8; ++k) copy[k] = words[k];
#endif
    for (int k = 0; k < 8; ++k) out[i * 8 + k] = copy[k];
}
