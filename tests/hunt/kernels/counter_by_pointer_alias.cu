// launch: n = 1, 5, 12; m = 0, 3
extern "C" __global__ void counter_by_pointer_alias(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int k = 0; k < 12; ++k) a[k] = in[t * 12 + k];
    int i = 0, count = n;
    int* const which[2] = { &i, &count };
    float s = 0.0f;
    for (i = 0; i < count; ++i) {
        s = s * 0.5f + a[i];
        a[n - 1 - i] += s;
        const int w = a[i] > 0.5f;
        if (order[t * 12 + i] & 4) *which[w] += w ? -1 : 1;
    }
    out[2 * t] = s;
    out[2 * t + 1] = (float)(i * 100 + count);
}
