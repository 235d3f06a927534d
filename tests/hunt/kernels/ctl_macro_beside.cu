// launch: n = 1, 5, 20; m = 0, 3
// a macro with local variables of its own beside the array
#define STEP() \
    int top = (word >> 4) & 15; \
    best = max(best - 1, top); \
    word = word * 5 + 1;
extern "C" __global__ void ctl_macro_beside(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int best = 0, word = order[t];
    float kept[12];
    for (int i = 0; i < 12; ++i) kept[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s += kept[(order[t + i] & 7) + (int)m];
        kept[(order[t + i] >> 3) & 7] = s;
        STEP();
    }
    out[t] = s + (float)best;
}
