// launch: n = 0, 5, 8; m = 0, 3
// sizeof a, sizeof *a, and a reference with the extent in its type
template <class T, unsigned N> __device__ __forceinline__ constexpr unsigned length(T (&)[N]) { return N; }
extern "C" __global__ void sizeof_array_changes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {};
    for (int i = 0; i < n; ++i) a[order[t * 8 + i] % length(a)] += in[t * 8 + i];
    float s = 0.0f;
    for (unsigned i = 0; i < sizeof(a) / sizeof(*a); ++i) s = s * 0.5f + a[i];
    out[t] = s + sizeof a + sizeof(a[0]) + sizeof(decltype(a));
}
