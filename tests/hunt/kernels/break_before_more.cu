// launch: n = 0, 1, 5, 20; m = 0, 3
// the round in which the search ends leaves out its last statement
extern "C" __global__ void break_before_more(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float best[8];
    for (int k = 0; k < 8; ++k) best[k] = 8.0f - k;
    float passed = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float d = in[t * 20 + i] + (order[t * 20 + i] & 7);
        for (int p = 0; p < 8; ++p) {
            if (d > best[p]) {
                for (int q = 7; q > p; --q) best[q] = best[q - 1];
                best[p] = d;
                break;
            }
            passed += best[p] * 0.0625f;
        }
    }
    for (int k = 0; k < 8; ++k) passed = passed * 0.75f + best[k];
    out[t] = passed;
}
