// The smallest four, by insertion.
// right: 1 2
// wrong: 51 52 53 54
extern "C" __global__ void insertion(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float best[4] = {1e9f, 1e9f, 1e9f, 1e9f};
    for (int k = 0; k < n; ++k) {
        float x = in[i * n + k];
#if V == 0
        if (x < best[3]) {
            int at = 3;
            while (at > 0 && best[at - 1] > x) { best[at] = best[at - 1]; --at; }
            best[at] = x;
        }
#elif V == 1
#pragma unroll
        for (int j = 0; j < 4; ++j) { const bool less = x < best[j]; const float small = less ? x : best[j], large = less ? best[j] : x; best[j] = small; x = large; }
#elif V == 2
#pragma unroll
        for (int j = 3; j >= 0; --j) {
            const float above = j > 0 ? best[j > 0 ? j - 1 : 0] : -1e30f;
            best[j] = best[j] > x ? (above > x ? above : x) : best[j];
        }
#elif V == 51
#pragma unroll
        for (int j = 0; j < 3; ++j) { const float small = fminf(x, best[j]), large = fmaxf(x, best[j]); best[j] = small; x = large; }
#elif V == 52
#pragma unroll
        for (int j = 0; j < 4; ++j) { const float small = fminf(x, best[j]); best[j] = small; }
#elif V == 53
#pragma unroll
        for (int j = 0; j < 4; ++j) { const float small = fmaxf(x, best[j]), large = fminf(x, best[j]); best[j] = small; x = large; }
#elif V == 54
#pragma unroll
        for (int j = 0; j < 4; ++j) if (x < best[j]) { const float t = best[j]; best[j] = x; x = t; break; }
#endif
    }
    for (int j = 0; j < 4; ++j) out[i * 4 + j] = best[j];
}
