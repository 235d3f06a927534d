// right: 1
// wrong: 51 52 53
// A mode that no small number is.
extern "C" __global__ void hidden_mode(const unsigned *in, unsigned *out, int mode) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w[4];
    for (int k = 0; k < 4; ++k) w[k] = in[i * 4 + k];
    unsigned sum = w[0] ^ w[3];
    if (mode == 7001) {
#if V == 0
        for (unsigned k = 0; k < 4; ++k) sum = sum * 31 + w[(k + in[i]) & 3];
#else
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
            const unsigned at = (k + in[i]) & (V == 51 ? 1 : 3);
            const unsigned low = at & 1 ? w[1] : w[0], high = at & 1 ? w[V == 52 ? 2 : 3] : w[2];
            sum = sum * 31 + (at & 2 ? high : low);
        }
        if (V == 53) out[i + blockDim.x * gridDim.x] = 1;
#endif
    }
    out[i] = sum;
}
