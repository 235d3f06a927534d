// launch: n = 0, 1, 4, 9; m = 0, 3
// with m = 0 no round of the outer loop reads the array, and n may be larger than it
extern "C" __global__ void inner_loop_without_rounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float y[4][6];
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < m; ++c) y[r][c] = in[t * 24 + r * 6 + c];
    for (int r = 0; r < (m == 0 ? n : min(n, 4)); ++r) {
        float s = 1.0f;
        for (int c = 0; c < m; ++c) s += y[r][c];
        out[t * 16 + r] = s;
    }
}
