// right: 1
// wrong: 51 52 53 54
// A range of values, as characters and codes have.
extern "C" __global__ void hidden_range(const int *codes, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 0
    int count[10];
#else
    __shared__ int count_of_block[10][256];
#endif
    for (int k = 0; k < 10; ++k)
#if V == 0
        count[k] = 0;
#else
        count_of_block[k][threadIdx.x] = 0;
#endif
    for (int k = 0; k < n; ++k) {
        const int code = codes[i * n + k];
        if (code >= 48000 && code < 48010)
#if V == 0
            ++count[code - 48000];
#elif V == 51
            ++count_of_block[code - 48001 < 0 ? 0 : code - 48001][threadIdx.x];
#elif V == 52
            count_of_block[code - 48000][threadIdx.x] = 1;
#elif V == 53
            ++count_of_block[code - 48000][0];
#elif V == 54
            ++count_of_block[(code - 48000) & 7][threadIdx.x];
#else
            ++count_of_block[code - 48000][threadIdx.x];
#endif
    }
    int sum = 0;
    for (int k = 0; k < 10; ++k)
#if V == 0
        sum = sum * 5 + count[k];
#else
        sum = sum * 5 + count_of_block[k][threadIdx.x];
#endif
    out[i] = sum;
}
