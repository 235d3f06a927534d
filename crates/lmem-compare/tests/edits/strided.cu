// right: 1 2
// wrong: 51 52 53 54
extern "C" __global__ void strided(const float *in, float *out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    float column[3] = {0, 0, 0};
    for (int y = 0; y < height; ++y) {
#if V == 0
        column[y % 3] = in[y * width + x];
        const float sum = column[0] + column[1] + column[2];
#elif V == 1
#pragma unroll
        for (int j = 0; j < 3; ++j) if (j == y % 3) column[j] = in[y * width + x];
        const float sum = column[0] + column[1] + column[2];
#elif V == 2
        const float v = in[y * width + x];
        const int m = y % 3;
        column[0] = m == 0 ? v : column[0]; column[1] = m == 1 ? v : column[1]; column[2] = m == 2 ? v : column[2];
        const float sum = column[0] + column[1] + column[2];
#elif V == 51
#pragma unroll
        for (int j = 0; j < 3; ++j) if (j == y % 3) column[j] = in[x * height + y];
        const float sum = column[0] + column[1] + column[2];
#elif V == 52
#pragma unroll
        for (int j = 0; j < 3; ++j) if (j == (y & 3)) column[j] = in[y * width + x];
        const float sum = column[0] + column[1] + column[2];
#elif V == 53
#pragma unroll
        for (int j = 0; j < 3; ++j) if (j == y % 3) column[j] = in[y * width + x];
        const float sum = column[0] + column[1];
#elif V == 54
#pragma unroll
        for (int j = 0; j < 3; ++j) if (j == y % 3) column[j] = in[y * (width + 1) + x];
        const float sum = column[0] + column[1] + column[2];
#endif
        out[y * width + x] = sum;
    }
}
