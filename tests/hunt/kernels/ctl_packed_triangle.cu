// launch: n = 0, 1, 3, 6; m = 0
#define MAXN 6
#define PACK(i, j) ((i) * ((i) + 1) / 2 + (j))
extern "C" __global__ void ctl_packed_triangle(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[MAXN * (MAXN + 1) / 2];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) a[PACK(i, j)] = in[(i * MAXN + j) * 64 + t % 64];
    float sum = 0;
    for (int j = 0; j < n; ++j) {
        float d = a[PACK(j, j)];
        for (int k = 0; k < j; ++k) d += a[PACK(j, k)];
        sum = sum * 0.5f + d;
    }
    out[t] = sum;
}
