// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void early_exit(const int *keys, const int *wanted, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int key[10];
    for (int k = 0; k < 10; ++k) key[k] = keys[i * 10 + k];
    const int w = wanted[i];
    int found = -1;
#if V == 0
    for (int k = 0; k < 10; ++k) { if (key[k] == w) { found = k; break; } }
#elif V == 1
#pragma unroll
    for (int k = 0; k < 10; ++k) if (found < 0 && key[k] == w) found = k;
#elif V == 2
#pragma unroll
    for (int k = 9; k >= 0; --k) if (key[k] == w) found = k;
#elif V == 51
#pragma unroll
    for (int k = 0; k < 10; ++k) if (key[k] == w) found = k;
#elif V == 52
#pragma unroll
    for (int k = 0; k < 9; ++k) if (found < 0 && key[k] == w) found = k;
#elif V == 53
#pragma unroll
    for (int k = 0; k < 10; ++k) if (found <= 0 && key[k] == w) found = k;
#endif
    out[i] = found;
}
