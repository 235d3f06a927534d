// right: 1
// wrong: 51 52 53 54
// Comparisons at their edges: NaN on either side, equal numbers, zeros of either sign.
extern "C" __global__ void float_edges(const float *in, const int *at, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float best[6];
    for (int k = 0; k < 6; ++k) best[k] = -1e30f;
    float sign = 0;
    int count = 0;
    for (int k = 0; k < n; ++k) {
        const float x = in[i * n + k];
        const int slot = (unsigned)at[i * n + k] % 6u;
#if V == 0
        if (!(x <= best[slot])) best[slot] = x;
        if (best[slot] >= 0.0f) ++count;
        if (x == 0.0f) sign += copysignf(1.0f, x);
#else
#pragma unroll
        for (int j = 0; j < 6; ++j)
            if (j == slot) {
#if V == 51
                if (x > best[j]) best[j] = x;
#else
                if (!(x <= best[j])) best[j] = x;
#endif
#if V == 52
                if (best[j] > 0.0f) ++count;
#elif V == 53
                if (!(best[j] < 0.0f)) ++count;
#else
                if (best[j] >= 0.0f) ++count;
#endif
            }
#if V == 54
        if (x == 0.0f) sign += 1.0f;
#else
        if (x == 0.0f) sign += copysignf(1.0f, x);
#endif
#endif
    }
    float sum = 0;
    for (int k = 0; k < 6; ++k) sum = sum * 0.5f + best[k];
    out[2 * i] = sum;
    out[2 * i + 1] = sign + count;
}
