// launch: n = 0, 1, 5, 20; m = 0, 3
// the loop with the break stands between an if and its else
extern "C" __global__ void break_between_if_and_else(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float best[8];
    for (int k = 0; k < 8; ++k) best[k] = 8.0f - k;
    float other = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float d = in[t * 20 + i] + (order[t * 20 + i] & 7);
        if (d > 1.0f)
            for (int p = 0; p < 8; ++p) {
                if (d > best[p]) {
                    for (int q = 7; q > p; --q) best[q] = best[q - 1];
                    best[p] = d;
                    break;
                }
            }
        else
            other += d;
    }
    for (int k = 0; k < 8; ++k) other = other * 0.75f + best[k];
    out[t] = other;
}
