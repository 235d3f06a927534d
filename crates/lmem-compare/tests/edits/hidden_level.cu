// right: 1
// wrong: 51 52 53 54
// Only values far above the usual ones get to the stack.
extern "C" __global__ void hidden_level(const float *level, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 0
    int stack[8];
#else
    __shared__ int stack_of_block[8][256];
#endif
    int top = 0, lost = 0;
    for (int k = 0; k < n; ++k) {
        const float v = level[i * n + k];
        if (v > 2500.0f) {
#if V == 0
            if (top < 8) stack[top++] = k; else ++lost;
#elif V == 51
            if (top < 7) stack_of_block[top++][threadIdx.x] = k; else ++lost;
#elif V == 52
            if (top < 8) stack_of_block[top++][threadIdx.x & 31] = k; else ++lost;
#elif V == 54
            if (top < 8) stack_of_block[top][threadIdx.x] = k, top += k > 0; else ++lost;
#else
            if (top < 8) stack_of_block[top++][threadIdx.x] = k; else ++lost;
#endif
        }
    }
    int sum = lost * 1000;
#if V == 0
    while (top > 0) sum = sum * 3 + stack[--top];
#elif V == 53
    while (top > 0) sum = sum * 3 + stack_of_block[top--][threadIdx.x];
#else
    while (top > 0) sum = sum * 3 + stack_of_block[--top][threadIdx.x];
#endif
    out[i] = sum;
}
