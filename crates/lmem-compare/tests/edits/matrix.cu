// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void matrix(const double *in, double *out, int pivot) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double m[3][4];
    for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) m[r][c] = in[(i * 3 + r) * 4 + c];
    const int p = (unsigned)pivot % 3;
#if V == 0
    for (int c = 0; c < 4; ++c) { const double t = m[p][c]; m[p][c] = m[0][c]; m[0][c] = t; }
#elif V == 1
#pragma unroll
    for (int r = 1; r < 3; ++r) if (r == p) {
#pragma unroll
        for (int c = 0; c < 4; ++c) { const double t = m[r][c]; m[r][c] = m[0][c]; m[0][c] = t; }
    }
#elif V == 2
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        const double t = p == 0 ? m[0][c] : p == 1 ? m[1][c] : m[2][c];
        if (p == 1) m[1][c] = m[0][c];
        if (p == 2) m[2][c] = m[0][c];
        m[0][c] = t;
    }
#elif V == 51
#pragma unroll
    for (int r = 1; r < 3; ++r) if (r == p) {
#pragma unroll
        for (int c = 0; c < 3; ++c) { const double t = m[r][c]; m[r][c] = m[0][c]; m[0][c] = t; }
    }
#elif V == 52
#pragma unroll
    for (int r = 1; r < 2; ++r) if (r == p) {
#pragma unroll
        for (int c = 0; c < 4; ++c) { const double t = m[r][c]; m[r][c] = m[0][c]; m[0][c] = t; }
    }
#elif V == 53
#pragma unroll
    for (int r = 1; r < 3; ++r) if (r == p) {
#pragma unroll
        for (int c = 0; c < 4; ++c) m[0][c] = m[r][c];
    }
#endif
    for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) out[(i * 3 + r) * 4 + c] = m[r][c] / (1.0 + c);
}
