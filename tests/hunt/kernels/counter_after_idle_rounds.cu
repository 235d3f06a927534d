// launch: n = 0, 1, 5, 12, 40; m = 0, 3
// rounds beyond the array skip everything, but the counter is used after the loop
extern "C" __global__ void counter_after_idle_rounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int k = 0; k < 12; ++k) a[k] = m;
    int i;
    for (i = 0; i < n; ++i) {
        if (i >= 12 || in[t * 40 + i] < -0.5f) continue;
        a[i] = in[t * 40 + i];
    }
    float s = 0.0f;
    for (int r = 0; r < n; ++r) s = s * 0.5f + a[r < 12 ? r : 11];
    out[t] = s + i;
}
