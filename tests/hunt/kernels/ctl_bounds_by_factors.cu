// launch: n = 1, 9; m = 0, 3
// launch bounds of two factors in parentheses, and more blocks than registers allow
constexpr int ROWS = 16, COLUMNS = 8;
extern "C" __global__ void __launch_bounds__((ROWS / 2) * (COLUMNS * 2), 12) ctl_bounds_by_factors(const float* in, const int* order, float* out, int n, unsigned m)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float acc[8][8] = {};
    for (int i = 0; i < n; ++i)
#pragma unroll
        for (int y = 0; y < 8; ++y)
#pragma unroll
            for (int x = 0; x < 8; ++x)
                acc[y][x] += in[i * 8 + y + t] * in[i * 8 + x + t + m];
#pragma unroll
    for (int y = 0; y < 8; ++y)
#pragma unroll
        for (int x = 0; x < 8; ++x)
            out[(t * 8 + y) * 8 + x] = acc[y][x];
}
