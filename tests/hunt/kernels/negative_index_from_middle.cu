// launch: n = 0, 5, 12; m = 0, 3
// `mid` points into the middle: indices from -6 to 5
extern "C" __global__ void negative_index_from_middle(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    float* const mid = a + 6;
    for (int k = -6; k < 6; ++k) mid[k] = in[t * 12 + 6 + k];
    for (int i = 0; i < n; ++i) mid[order[t * 12 + i] % 12 - 6] += mid[-1];
    float s = 0.0f;
    for (signed char k = 5; k >= -6; --k) s = s * 0.5f + mid[k];
    out[t] = s;
}
