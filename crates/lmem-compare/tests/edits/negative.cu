// Signs, widths and rounding of whole numbers.
// right: 1 2
// wrong: 51 52 53 54
extern "C" __global__ void negative(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int parts[4];
    const int x = in[i];
#if V == 0
    for (int k = 0; k < 4; ++k) parts[k] = (x >> 8 * k) / 4;
    out[i] = parts[n & 3];
#elif V == 1
    const int y = x >> 8 * (n & 3);
    out[i] = y / 4;
#elif V == 2
    const int y = x >> 8 * (n & 3);
    out[i] = (y + ((y >> 31) & 3)) >> 2;
#elif V == 51
    out[i] = x >> 8 * (n & 3) >> 2;
#elif V == 52
    out[i] = int(unsigned(x) >> 8 * (n & 3)) / 4;
#elif V == 53
    out[i] = (x >> 8 * (n & 1)) / 4;
#elif V == 54
    out[i] = short(x >> 8 * (n & 3)) / 4;
#endif
}
