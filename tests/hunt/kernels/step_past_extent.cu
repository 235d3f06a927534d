// launch: n = 0, 1, 8, 11; m = 0, 3
// unrolled by hand, four at a time with a tail
extern "C" __global__ void step_past_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[11];
    int i;
    for (i = 0; i + 3 < n; i += 4) {
        a[i] = in[t * 11 + i];          a[i + 1] = in[t * 11 + i + 1] + 1;
        a[i + 2] = in[t * 11 + i + 2];  a[i + 3] = in[t * 11 + i + 3] - 1;
    }
    for (; i < n; ++i) a[i] = in[t * 11 + i] * 8.0f;
    float s = 0.0f;
    for (i = 0; i <= n - 4; i += 4) s = s * 0.5f + a[i] + a[i + 1] * a[i + 2] - a[i + 3];
    for (; i < n; i++) s = s * 0.25f + a[i];
    out[t] = s;
}
