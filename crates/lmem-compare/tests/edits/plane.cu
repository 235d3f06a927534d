// Two dimensions of threads.
// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void plane(const float *in, float *out, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float around[9];
    for (int k = 0; k < 9; ++k) around[k] = in[(y + k / 3) * width + x + k % 3];
    const int w = (x + y) % 9;
#if V == 0
    out[y * width + x] = around[w] - around[4];
#elif V == 1
    float v = around[0];
#pragma unroll
    for (int k = 1; k < 9; ++k) if (k == w) v = around[k];
    out[y * width + x] = v - around[4];
#elif V == 2
    out[y * width + x] = in[(y + w / 3) * width + x + w % 3] - around[4];
#elif V == 51
    out[y * width + x] = in[(y + w % 3) * width + x + w / 3] - around[4];
#elif V == 52
    float v = around[0];
#pragma unroll
    for (int k = 1; k < 8; ++k) if (k == w) v = around[k];
    out[y * width + x] = v - around[4];
#elif V == 53
    const int u = x % 9;
    float v = around[0];
#pragma unroll
    for (int k = 1; k < 9; ++k) if (k == u) v = around[k];
    out[y * width + x] = v - around[4];
#endif
}
