// launch: n = 0, 1, 5, 8; m = 0, 3, 5
// `T` is a reference where a variable is forwarded
template <class T> __device__ __forceinline__ float sum_of(T&& limit, float* row, unsigned m)
{
    T count = limit;
    float sum = 0;
    for (int j = 0; j < limit; ++j) { if (j == (int)m) count = limit - 1; sum += row[j]; }
    return sum;
}
extern "C" __global__ void alias_of_bound_forwarded(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float row[16];
    int limit = n;
    for (int j = 0; j < limit; ++j) row[j] = in[j];
    out[t] = sum_of(limit, row, m);
}
