// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void __launch_bounds__(64) warp_sum(const int *in, int *out) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    int part[3];
    for (int k = 0; k < 3; ++k) part[k] = in[i * 3 + k];
#if V == 0
    for (int k = 0; k < 3; ++k) for (int d = 16; d > 0; d >>= 1) part[k] += __shfl_xor_sync(~0u, part[k], d);
    const int w = (i >> 5) % 3;
    out[i] = part[w];
#elif V == 1
#pragma unroll
    for (int k = 0; k < 3; ++k) for (int d = 16; d > 0; d >>= 1) part[k] += __shfl_xor_sync(~0u, part[k], d);
    const int w = (i >> 5) % 3;
    out[i] = w == 0 ? part[0] : w == 1 ? part[1] : part[2];
#elif V == 2
    const int w = (i >> 5) % 3;
    int x = w == 0 ? part[0] : w == 1 ? part[1] : part[2];
    for (int d = 1; d < 32; d <<= 1) x += __shfl_xor_sync(~0u, x, d);
    out[i] = x;
#elif V == 51
    const int w = (i >> 5) % 3;
    int x = w == 0 ? part[0] : w == 1 ? part[1] : part[2];
    for (int d = 1; d < 16; d <<= 1) x += __shfl_xor_sync(~0u, x, d);
    out[i] = x;
#elif V == 52
    const int w = i % 3;
    int x = w == 0 ? part[0] : w == 1 ? part[1] : part[2];
    for (int d = 1; d < 32; d <<= 1) x += __shfl_xor_sync(~0u, x, d);
    out[i] = x;
#elif V == 53
    const int w = (i >> 5) % 3;
    int x = w == 0 ? part[0] : w == 1 ? part[1] : part[2];
    for (int d = 1; d < 32; d <<= 1) x += __shfl_down_sync(~0u, x, d);
    out[i] = x;
#endif
}
