// launch: n = -2, 0, 1, 12; m = 0, 1, 12
// control
extern "C" __global__ void ctl_countdown_postfix(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = n; i-- > 0;) {
        if (in[t + i] < -0.5f) continue;
        s = s * 0.5f + a[i];
    }
    for (unsigned i = m; i--;) s = s * 0.5f - a[i] * (float)i;
    out[t] = s;
}
