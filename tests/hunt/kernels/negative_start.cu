// launch: n = 0, 1, 5, 10; m = 0, 3
extern "C" __global__ void negative_start(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float halo[14];
    for (int i = -2; i < n + 2; ++i) halo[i + 2] = in[(t * 16 + i) & 0x3fffff];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + halo[i] - 2 * halo[i + 2] + halo[i + 4];
    for (int i = -(int)(m & 1); i < n; ++i) s = s * 0.5f + halo[i + 2];
    out[t] = s;
}
