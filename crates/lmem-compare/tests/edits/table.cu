// A table that assignments fill becomes constant.
// right: 1 2
// wrong: 51 52 53
#if V == 1
__constant__ int weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
#elif V == 51
__constant__ int weights[9] = {1, 2, 1, 2, 4, 2, 1, 2};
#elif V == 52
__constant__ int weights[9] = {1, 2, 1, 4, 2, 2, 1, 2, 1};
#endif
extern "C" __global__ void table(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 0
    int weights[9];
    for (int k = 0; k < 9; ++k) weights[k] = 1;
    weights[1] = weights[3] = weights[5] = weights[7] = 2;
    weights[4] = 4;
#elif V == 2
    static const int weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
#elif V == 53
    static const int weights[8] = {1, 2, 1, 2, 4, 2, 1, 2};
#endif
    int sum = 0;
#if V == 53
    for (int k = 0; k < n; ++k) sum += weights[in[i * n + k] & 7];
#else
    for (int k = 0; k < n; ++k) { const int w = in[i * n + k]; sum += weights[w % 9 < 0 ? 0 : w % 9]; }
#endif
    out[i] = sum;
}
