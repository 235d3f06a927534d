// launch: n = 4, 5, 12; m = 0, 3
extern "C" __global__ void start_at_m(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = m; i < n; ++i) s = s * 0.5f + a[i] * a[i - (int)m];
    for (unsigned i = m; i-- > 0;) s = s * 0.25f + a[i];
    out[t] = s;
}
