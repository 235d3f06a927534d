// launch: n = 0, 1, 5, 12; m = 0, 3
// control
template <int N> __device__ __forceinline__ float dot(const float* src, int n)
{
    float a[N];
    for (int i = 0; i < n; ++i) a[i] = src[i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    return s;
}
extern "C" __global__ void ctl_template_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = dot<12>(in + t * 12, n) + dot<16>(in + t * 12, n);
}
