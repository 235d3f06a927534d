// launch: n = 0, 1, 5, 13; m = 0, 3
extern "C" __global__ void decreasing_by_three(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[13];
    for (int i = 0; i < n; ++i) a[i] = in[t * 13 + i];
    float s = 0.0f;
    int i;
    for (i = n - 1; i >= 0; i -= 3) s = s * 0.5f + a[i];
    for (int k = 0; k < n; k += 5) s = s * 0.5f + a[k];
    out[t] = s + 10.0f * i;
}
