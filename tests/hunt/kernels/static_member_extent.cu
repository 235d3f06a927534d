// launch: n = 0, 1, 5, 6; m = 0, 3
// Base::N is 12, Small::N hides it with 6, and a local alias takes the name of the base
struct Base { static constexpr int N = 12; static constexpr int H = N / 2; };
struct Small : Base { static constexpr int N = 6; };
template <class C> __device__ __forceinline__ float fold(const float (&v)[C::N * 2], int n) { float s = 0; for (int i = 0; i < n && i < C::N; ++i) s = s * 0.5f + v[i]; return s; }
extern "C" __global__ void static_member_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    using Base = Small;
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[Base::N], b[Base::H * 2];
    for (int i = 0; i < n; ++i) { a[i] = in[t * 12 + i]; b[i + Base::N] = -a[i]; }
    for (int i = 0; i < Base::N; ++i) b[i] = in[t * 12 + i] * 2;
    float s = fold<Small>(b, n);
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[order[t + i] % n] - b[order[t + i] % 6 + (order[t + i] % 6 < n ? 6 : 0)];
    out[t] = s;
}
