// launch: n = 0, 1, 3, 4; m = 0, 3, 6
// control: both bounds at most the extents of their dimension
extern "C" __global__ void matrix_transposed_bounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[6][4];
    for (int j = 0; j < (int)m; ++j)
        for (int i = 0; i < n; ++i) a[j][i] = in[t * 24 + i * 6 + j];
    float s = 0.0f;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < (int)m; ++j) s = s * 0.5f + a[j][i];
    out[t] = s;
}
