// launch: n = 0, 1, 5, 8; m = 0, 3
// where an element is written, the name of the extent is that of something else
constexpr int M = 8;
namespace small { constexpr int L = 4; }
constexpr int L = 8;
struct List {
    int d[M], e[L], f[M], g[M];
    int a, b, c, h;
    __device__ void of_enumerator(int v) { enum { M = 4 }; d[a++] = v + M; }
    __device__ void of_namespace(int v) { using small::L; e[b++] = v + L; }
    __device__ void of_static(int v) { static constexpr int M = 4; f[c++] = v + M; }
    template <int M = 4> __device__ int of_template(int v) { g[h++] = v + M; return M; }
};
extern "C" __global__ void extents_of_another_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    List l;
    l.a = l.b = l.c = l.h = 0;
    for (int i = 0; i < 8; ++i) l.d[i] = l.e[i] = l.f[i] = l.g[i] = i;
    for (int i = 0; i < n; ++i) {
        const int v = order[t + i] & 15;
        if (v & 1) l.of_enumerator(v);
        if (v & 2) l.of_namespace(v);
        if (v & 4) l.of_static(v);
        if (v & 8) l.of_template(v);
    }
    int s = 0;
    for (int i = 0; i < 8; ++i) s = (s * 31 + l.d[i] + 3 * l.e[i] + 5 * l.f[i] + 7 * l.g[i]) % 65521;
    out[t] = (float)s;
}
