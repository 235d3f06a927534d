// launch: n = 3, 7, 10; m = 0, 3
// four things named N
constexpr int N = 4;
template <int N> struct Tile { static __device__ int cap() { return N; } enum { M = N * 2 }; };
namespace detail { constexpr int N = 6; __device__ __forceinline__ int lim(int n) { return n < N ? n : N; } }
extern "C" __global__ void const_scopes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    enum { N = 10 };
    float a[N];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) a[i] = in[t * 10 + i];
    for (int i = 0; i < n; ++i) a[order[t * 10 + i] % N] += a[i];
    {
        constexpr int N = 3;
        for (int i = 0; i < N; ++i) s = s * 0.5f + a[order[t + i] % N];
    }
    for (int i = 0; i < detail::lim(n); ++i) s = s * 0.5f + a[i];
    for (int i = 0; i < n && i < Tile<5>::cap(); ++i) s = s * 0.5f + a[n - 1 - i];
    for (int i = 0; i < n && i < ::N; ++i) s = s * 0.25f - a[i];
    out[t] = s + Tile<2>::M;
}
