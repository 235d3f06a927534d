// launch: n = 0, 1, 12, 40; m = 0, 3
// the counter stops at the extent, and the rounds go on
extern "C" __global__ void counter_steps_in_some_rounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int k = 0; k < 12; ++k) a[k] = m;
    int kept = 0;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s = s * 0.5f + in[t * 40 + i];
        if (kept == 12) continue;
        a[kept++] = s;
    }
    for (int k = 0; k < kept; ++k) s = s * 0.5f + a[k];
    out[t] = s;
}
