// Two arrays in one frame; the loops have a length of run time, and one of them passes over its array again.
// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void two_arrays(const float *in, const int *pick, float *out, int n, int m) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float few[4], many[9];
#pragma unroll 1
    for (int k = 0; k < 4; ++k) few[k] = in[i * 13 + k];
#pragma unroll 1
    for (int k = 0; k < 9; ++k) many[k] = in[i * 13 + 4 + k];
    float sum = many[pick[i]];
#if V == 0
    for (int k = 0; k < n; ++k) sum += few[k % 4] * 0.5f;
    for (int k = 0; k < m; ++k) sum -= many[k];
#elif V == 1
    for (int k = 0; k < n; ++k) {
        const float it = (k & 3) == 0 ? few[0] : (k & 3) == 1 ? few[1] : (k & 3) == 2 ? few[2] : few[3];
        sum += it * 0.5f;
    }
#pragma unroll
    for (int k = 0; k < 9; ++k) if (k < m) sum -= many[k];
#elif V == 2
    for (int k = 0; k < n; ++k) sum += few[k % 4] * 0.5f;
#pragma unroll
    for (int k = 0; k < 9; ++k) { if (k >= m) break; sum -= many[k]; }
#elif V == 51
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k < n) sum += few[k] * 0.5f;
    for (int k = 0; k < m; ++k) sum -= many[k];
#elif V == 52
    for (int k = 0; k < n; ++k) sum += few[k % 4] * 0.5f;
#pragma unroll
    for (int k = 0; k < 8; ++k) if (k < m) sum -= many[k];
#elif V == 53
    for (int k = 0; k < n; ++k) sum += few[k & 1 ? 3 : k % 4] * 0.5f;
    for (int k = 0; k < m; ++k) sum -= many[k];
#endif
    out[i] = sum;
}
