// right: 1
// wrong: 51 52 53
// Two conditions at once.
extern "C" __global__ void hidden_pair(const int *kind, const float *energy, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float bin[5];
    for (int k = 0; k < 5; ++k) bin[k] = energy[i * 5 + k];
    float best = bin[0];
    if (kind[i] == 6012 && bin[1] > 640.0f) {
#if V == 0
        for (int k = 4; k > 0; --k) {
            int at = k;
            while (at > 0 && bin[at - 1] > bin[at]) { const float h = bin[at]; bin[at] = bin[at - 1]; bin[at - 1] = h; --at; }
        }
        for (int k = 0; k < 5; ++k) best = best * 0.5f + bin[k];
#else
#pragma unroll
        for (int k = 4; k > 0; --k) {
            bool goes_on = true;
#pragma unroll
            for (int at = k; at > 0; --at) {
                goes_on = goes_on && (V == 51 ? bin[at - 1] >= bin[at] + 1.0f : bin[at - 1] > bin[at]);
                const float low = bin[at - 1], high = bin[at];
                bin[at] = goes_on ? low : high;
                bin[at - 1] = goes_on || V == 52 ? high : low;
            }
        }
#pragma unroll
        for (int k = V == 53; k < 5; ++k) best = best * 0.5f + bin[k];
#endif
    }
    out[i] = best;
}
