// launch: n = 1, 5, 12; m = 0, 3
// `--i` repeats a round
extern "C" __global__ void body_retries(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int rounds = 0;
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i] * 4.0f;
    for (int i = 0; i < n; ++i) {
        ++rounds;
        if (a[i] > 1.0f) { a[i] *= 0.5f; --i; }
    }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s + 16.0f * rounds;
}
