// launch: n = 0, 2, 4; m = 0, 3
// one instance stops the loop, the other does not
template <bool Early, int N> __device__ __noinline__ float tally(const float* src, const int* order, int n)
{
    float a[N];
    for (int i = 0; i < N; ++i) a[i] = src[i];
    int i = 0;
    float s = 0.0f;
    for (; i < n; ++i) {
        if constexpr (Early) { if (a[i] > 0.5f) break; }
        a[order[i] % N] += 1.0f;
        s = s * 0.5f + a[i];
    }
    return s + 16.0f * i;
}
extern "C" __global__ void if_constexpr_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * t] = tally<true, 10>(in + t * 16, order + t * 16, 2 * n);
    out[2 * t + 1] = tally<false, 4>(in + t * 16, order + t * 16, n);
}
