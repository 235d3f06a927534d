// A pointer to one of two arrays of different length, and an index that both have room for only when it is small.
// right: 1 2
// wrong: 51 52
extern "C" __global__ void chosen_array(const float *in, const int *at, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a[3], b[6];
    for (int k = 0; k < 3; ++k) a[k] = in[i * 9 + k];
    for (int k = 0; k < 6; ++k) b[k] = in[i * 9 + 3 + k];
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        const int j = at[i * n + k];
#if V == 0
        float *const p = (k & 1) ? b : a;
        p[j] += 1.0f;
        sum += p[j] * k;
#elif V == 1
        if (k & 1) {
#pragma unroll
            for (int l = 0; l < 6; ++l) if (l == j) { b[l] += 1.0f; sum += b[l] * k; }
        } else {
#pragma unroll
            for (int l = 0; l < 3; ++l) if (l == j) { a[l] += 1.0f; sum += a[l] * k; }
        }
#elif V == 2
        if (k & 1) { b[j] += 1.0f; sum += b[j] * k; } else { a[j] += 1.0f; sum += a[j] * k; }
#elif V == 51
        if (k & 1) {
#pragma unroll
            for (int l = 0; l < 6; ++l) if (l == j) { b[l] += 1.0f; sum += b[l] * k; }
        } else {
#pragma unroll
            for (int l = 0; l < 2; ++l) if (l == j) { a[l] += 1.0f; sum += a[l] * k; }
        }
#elif V == 52
        float *const p = (k & 1) ? a : b;
        p[j] += 1.0f;
        sum += p[j] * k;
#endif
    }
    for (int k = 0; k < 3; ++k) sum += a[k];
    for (int k = 0; k < 6; ++k) sum -= b[k];
    out[i] = sum;
}
