// Rows of a nested array beside a plain one; rows and columns have lengths of run time.
// right: 1 2
// wrong: 51 52 53
// inner: 3
extern "C" __global__ void nested(const float *in, const int *at, float *out, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float grid[3][5], edge[4];
    for (int r = 0; r < 3; ++r) for (int c = 0; c < 5; ++c) grid[r][c] = in[i * 19 + r * 5 + c];
    for (int k = 0; k < 4; ++k) edge[k] = in[i * 19 + 15 + k];
    edge[at[i] & 3] = 2.0f;
    float sum = 0;
#if V == 0
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) sum = sum * 0.5f + grid[r][c] * edge[c & 3];
#elif V == 1
#pragma unroll
    for (int r = 0; r < 3; ++r) if (r < rows)
#pragma unroll
        for (int c = 0; c < 5; ++c) if (c < columns) sum = sum * 0.5f + grid[r][c] * edge[c & 3];
#elif V == 2
    for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int c = 0; c < 5; ++c) if (c < columns) sum = sum * 0.5f + grid[r][c] * edge[c & 3];
#elif V == 51
#pragma unroll
    for (int r = 0; r < 3; ++r) if (r < rows)
#pragma unroll
        for (int c = 0; c < 5; ++c) if (c <= columns) sum = sum * 0.5f + grid[r][c] * edge[c & 3];
#elif V == 52
#pragma unroll
    for (int r = 0; r < 2; ++r) if (r < rows)
#pragma unroll
        for (int c = 0; c < 5; ++c) if (c < columns) sum = sum * 0.5f + grid[r][c] * edge[c & 3];
#elif V == 53
#pragma unroll
    for (int c = 0; c < 5; ++c) if (c < columns)
#pragma unroll
        for (int r = 0; r < 3; ++r) if (r < rows) sum = sum * 0.5f + grid[r][c] * edge[c & 3];
#endif
    out[i] = sum;
}
