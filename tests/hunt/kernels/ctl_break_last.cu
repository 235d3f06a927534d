// launch: n = 0, 1, 5, 12; m = 0, 3
// control: a break, but nothing uses the counter afterwards
extern "C" __global__ void ctl_break_last(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        if (a[n - 1 - i] > 0.8f) break;
        s = s * 0.5f + a[n - 1 - i];
    }
    out[t] = s;
}
