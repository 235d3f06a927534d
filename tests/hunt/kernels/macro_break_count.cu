// launch: n = 0, 1, 5, 12; m = 0, 3
// a break hidden in a macro, and the counter says how far the loop came
#define STOP_WHEN(c) if (c) break
extern "C" __global__ void macro_break_count(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float window[12];
    int i;
    for (i = 0; i < n; ++i) {
        window[i] = in[t * 16 + i];
        STOP_WHEN(window[i] > 0.8f);
    }
    const int filled = i;
    float s = 0.0f;
    for (int k = 0; k < filled; ++k)
        s = s * 0.5f + window[k] + (k > 0 ? window[(order[t + k] & 0x7fffffff) % k] : 0.0f);
    out[2 * t] = s;
    out[2 * t + 1] = (float)filled + m;
}
