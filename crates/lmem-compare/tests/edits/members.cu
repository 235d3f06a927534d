// A structure of arrays beside another array: lengths of run time bound the loops over its members.
// right: 1 2
// wrong: 51 52 53
// inner: 4
struct State { int used; float gain[4]; int order[8]; };
extern "C" __global__ void members(const State *all, const int *at, float *out, int n, int m) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float seen[6] = {0, 0, 0, 0, 0, 0};
    State s = all[i];
    for (int k = 0; k < 6; ++k) {
        s.order[at[i * 6 + k] & 7] ^= k + 1;
        seen[at[i * 6 + k] % 6u] += s.gain[k & 3];
    }
    float sum = 0;
#if V == 0
    for (int k = 0; k < n; ++k) { sum += s.gain[k]; s.gain[k] = sum; }
    for (int k = 0; k < m; ++k) sum += s.order[k & 7] * (k + 1);
#elif V == 1
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k < n) { sum += s.gain[k]; s.gain[k] = sum; }
    for (int k = 0; k < m; ++k) sum += s.order[k & 7] * (k + 1);
#elif V == 2
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k < n) { sum += s.gain[k]; s.gain[k] = sum; }
    for (int k = 0; k < m; k += 8) {
#pragma unroll
        for (int l = 0; l < 8; ++l) if (k + l < m) sum += s.order[l] * (k + l + 1);
    }
#elif V == 51
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k < n) sum += s.gain[k];
    for (int k = 0; k < m; ++k) sum += s.order[k & 7] * (k + 1);
#elif V == 52
#pragma unroll
    for (int k = 0; k < 3; ++k) if (k < n) { sum += s.gain[k]; s.gain[k] = sum; }
    for (int k = 0; k < m; ++k) sum += s.order[k & 7] * (k + 1);
#elif V == 53
    for (int k = 0; k < n; ++k) { sum += s.gain[k]; s.gain[k] = sum; }
    for (int k = 0; k < m; ++k) sum += s.order[k & 7] * k;
#endif
    for (int k = 0; k < 4; ++k) sum = sum * 0.5f + s.gain[k];
    for (int k = 0; k < 6; ++k) sum = sum * 0.5f + seen[k];
    out[i] = sum;
}
