// launch: n = -3, -1, 0, 2; m = 0, 3, 8
// the first index is negative, and the comparison makes it large: no round
extern "C" __global__ void first_below_zero_unsigned(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = in[t * 8 + i];
    float s = 0.0f;
    for (int i = n; i < m; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
