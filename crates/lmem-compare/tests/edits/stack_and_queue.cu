// Bytes of one array through a cast, and a stack beside it whose depth data decides.
// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void stack_and_queue(const unsigned *in, const int *steps, unsigned *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned words[3], stack[6] = {0, 0, 0, 0, 0, 0};
    for (int k = 0; k < 3; ++k) words[k] = in[i * 3 + k];
    unsigned char *const bytes = (unsigned char *)words;
    int top = 0;
    unsigned sum = 0;
    for (int k = 0; k < n; ++k) {
        const int step = steps[i * n + k];
#if V == 0
        sum = sum * 31 + bytes[step];
        bytes[step] += 1;
#elif V == 1
        const unsigned shift = 8 * (step & 3);
#pragma unroll
        for (int l = 0; l < 3; ++l) if (l == step >> 2) {
            const unsigned byte = words[l] >> shift & 255;
            sum = sum * 31 + byte;
            words[l] = words[l] & ~(255u << shift) | (byte + 1 & 255) << shift;
        }
#elif V == 51
        const unsigned shift = 8 * (step & 3);
#pragma unroll
        for (int l = 0; l < 3; ++l) if (l == step >> 2) {
            const unsigned byte = words[l] >> shift & 255;
            sum = sum * 31 + byte;
            words[l] += 1u << shift;
        }
#else
        sum = sum * 31 + bytes[step];
        bytes[step] += 1;
#endif
        if (step & 1) {
#if V == 2
#pragma unroll
            for (int l = 0; l < 6; ++l) if (l == top) stack[l] = sum;
#elif V == 52
#pragma unroll
            for (int l = 0; l < 3; ++l) if (l == top) stack[l] = sum;
#else
            stack[top] = sum;
#endif
            ++top;
        } else if (top > 0) {
            --top;
#if V == 2 || V == 52
#pragma unroll
            for (int l = 0; l < 6; ++l) if (l == top) sum ^= stack[l];
#elif V == 53
            sum ^= stack[top > 0 ? top - 1 : 0];
#else
            sum ^= stack[top];
#endif
        }
    }
    for (int k = 0; k < 3; ++k) sum = sum * 31 + words[k];
    for (int k = 0; k < 6; ++k) sum = sum * 31 + stack[k];
    out[i] = sum;
}
