// right: 1 2
// wrong: 51 52
extern "C" __global__ void uninitialized(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x[5];
#if V == 51
    for (int k = 0; k < 4; ++k) x[k] = -1;
#elif V == 52
    for (int k = 0; k < 5; ++k) if (k < n) x[k] = -1;
#else
    for (int k = 0; k < 5; ++k) x[k] = -1;
#endif
    for (int k = 0; k < n; ++k) {
        const int w = unsigned(in[i * n + k]) % 5;
#if V == 1
#pragma unroll
        for (int j = 0; j < 5; ++j) if (j == w) x[j] = k;
#elif V == 2
#pragma unroll
        for (int j = 0; j < 5; ++j) x[j] = j == w ? k : x[j];
#else
        x[w] = k;
#endif
    }
    for (int k = 0; k < 5; ++k) out[i * 5 + k] = x[k];
}
