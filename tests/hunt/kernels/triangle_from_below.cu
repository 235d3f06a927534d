// launch: n = 0, 1, 4, 5; m = 0, 1, 2
// the row starts below zero, where a triangle's numbers rise again
extern "C" __global__ void triangle_from_below(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[15];
    for (int i = 0; i < 15; ++i) a[i] = in[i * 64 + t % 64];
    float sum = 0;
    for (int i = -(int)m - 1; i < n; ++i) sum = sum * 0.5f + a[i * (i + 1) / 2];
    for (int i = n - 1; i >= 0; --i) sum = sum * 0.5f - a[i * (i + 1) / 2 + i];
    for (int i = 0; i * (i + 1) / 2 < n; ++i) a[i * (i + 1) / 2] = sum;
    out[t] = sum + a[(order[t] & 0xffff) % 15];
}
