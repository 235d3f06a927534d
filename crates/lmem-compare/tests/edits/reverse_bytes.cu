// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void reverse_bytes(const unsigned *in, unsigned *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], y = 0;
#if V == 0
    unsigned char b[4];
    *(unsigned *)b = x;
    for (int k = 0; k < 4; ++k) y = y << 8 | b[(k + n) & 3];
#elif V == 1
#pragma unroll
    for (int k = 0; k < 4; ++k) y = y << 8 | (x >> 8 * ((k + n) & 3) & 255);
#elif V == 2
    const unsigned r = n & 3;
    const unsigned z = r == 0 ? x : x >> 8 * r | x << (32 - 8 * r);
    y = __byte_perm(z, 0, 0x0123);
#elif V == 51
#pragma unroll
    for (int k = 0; k < 4; ++k) y = y << 8 | (x >> 8 * ((k - n) & 3) & 255);
#elif V == 52
#pragma unroll
    for (int k = 0; k < 4; ++k) y = y << 8 | (x >> 8 * ((k + n) & 3) & 127);
#elif V == 53
#pragma unroll
    for (int k = 0; k < 4; ++k) y = y << 8 | (x >> 8 * ((3 - k + n) & 3) & 255);
#endif
    out[i] = y;
}
