// right: 1
// wrong: 51 52 53 54 55
// Signed and unsigned numbers: differences below zero, remainders and shifts of negative numbers, offsets of 64 bits.
extern "C" __global__ void wraps(const int *in, const long long *far, const int *pool, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bin[7] = {};
    int sum = 0;
    for (int k = 0; k < n; ++k) {
        const int value = in[i * n + k];
        const unsigned apart = (unsigned)value - 40u;
#if V == 0
        if (apart < 7u) ++bin[apart];
        bin[(value % 7 + 7) % 7] += value >> 2;
        sum += pool[far[i * n + k]];
#else
#if V == 51
        const int close = (int)apart;
        if (close < 7) {
#else
        const unsigned close = apart;
        if (close < 7u) {
#endif
#pragma unroll
            for (int j = 0; j < 7; ++j) if (j == (int)(close & 0xffff)) ++bin[j];
#if V == 51
            if (close < 0) ++bin[0];
#endif
        }
#if V == 52
        const int slot = (unsigned)value % 7u;
#else
        const int slot = (value % 7 + 7) % 7;
#endif
#pragma unroll
        for (int j = 0; j < 7; ++j)
#if V == 53
            if (j == slot) bin[j] += value / 4;
#elif V == 54
            if (j == slot) bin[j] += (int)((unsigned)value >> 2);
#else
            if (j == slot) bin[j] += value >> 2;
#endif
#if V == 55
        sum += pool[(int)far[i * n + k]];
#else
        sum += pool[far[i * n + k]];
#endif
#endif
    }
    for (int k = 0; k < 7; ++k) sum = sum * 3 + bin[k];
    out[i] = sum;
}
