// launch: n = 1, 5, 8; m = 0, 3
// control
extern "C" __global__ void nested_triangular(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < n; ++i) a[i] = in[t * 8 + i];
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j)
            a[i] -= a[j] * 0.125f;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
