// right: 1
// wrong: 51 52 53 54 55
// A loop that is left early: in the round itself, after it, with no rounds at all, and after more than the array has.
extern "C" __global__ void last_round(const int *in, int *out, int n, int limit) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int ring[8];
    for (int k = 0; k < 8; ++k) ring[k] = -k;
    int sum = 0, left = -1;
#if V == 0
    for (int k = 0; k < n; ++k) {
        ring[k & 7] = in[i * n + k];
        sum += ring[k + 3 & 7];
        if (sum > limit) { left = k; break; }
    }
#else
    bool done = false;
#if V == 55
    for (int first = 0; first < n && first < 16 && !done; first += 8)
#elif V == 53
    int first = 0;
    do
#else
    for (int first = 0; first < n && !done; first += 8)
#endif
    {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
#if V == 53
            if ((first + j < n || n == 0) && !done) {
#else
            if (first + j < n && !done) {
#endif
#if V == 52
                if (sum > limit) { left = first + j - 1; done = true; }
                ring[j] = in[i * n + first + j];
                sum += ring[j + 3 & 7];
#else
                ring[j] = in[i * n + first + j];
                sum += ring[j + 3 & 7];
                if (sum > limit) {
                    left = first + j;
#if V == 51
                    done = first + j != 7;
#elif V == 54
                    done = sum != limit + 1;
#else
                    done = true;
#endif
                }
#endif
            }
        }
#if V == 53
        first += 8;
#endif
    }
#if V == 53
    while (first < n && !done);
#endif
#endif
    for (int k = 0; k < 8; ++k) sum = sum * 3 + ring[k];
    out[i] = sum ^ left;
}
