// launch: n = 0, 1, 5, 12; m = 0, 3
extern "C" __global__ void counter_after_loop(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int i = 0, j;
    for (; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (j = 0; j < n; ++j) s = s * 0.5f + a[n - 1 - j];
    out[2 * t] = s + i;
    out[2 * t + 1] = (float)(j * 3 + i);
}
