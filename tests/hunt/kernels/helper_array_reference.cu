// launch: n = 0, 3, 12; m = 0, 3
// control: helper takes float (&v)[N], two extents
template <int N> __device__ __forceinline__ float fold(const float (&v)[N], int n)
{
    float s = 0.0f;
    for (int i = 0; i < n && i < N; ++i) s = s * 0.5f + v[i];
    return s;
}
extern "C" __global__ void helper_array_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], b[20];
    for (int i = 0; i < n; ++i) a[i] = in[t * 20 + i];
    for (int i = 0; i < n + 8; ++i) b[i] = in[t * 20 + i] * 2.0f;
    out[t] = fold(a, n) - fold(b, n + 8);
}
