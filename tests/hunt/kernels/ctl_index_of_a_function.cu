// launch: n = 0, 1, 3, 6; m = 0
constexpr int MAXN = 6;
__device__ __forceinline__ int at(int row, int column) { return row * MAXN + column; }
extern "C" __global__ void ctl_index_of_a_function(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[MAXN * MAXN];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) a[at(i, j)] = in[(i * MAXN + j) * 64 + t % 64];
    float sum = 0;
    for (int j = 0; j < n; ++j) {
        float d = a[at(j, j)];
        for (int k = 0; k < j; ++k) d += a[at(j, k)];
        sum = sum * 0.5f + d;
    }
    out[t] = sum;
}
