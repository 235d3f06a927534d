// launch: n = 0, 5, 12; m = 0, 3
// `score` has a const and a non-const overload: making the table const selects the other one
static __device__ __forceinline__ int score(const int* p, int k) { return p[k] * 2; }
static __device__ __forceinline__ int score(int* p, int k) { return p[k] + 1000; }
extern "C" __global__ void overload_by_constness(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int tab[16] = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    int s = 0;
    for (int i = 0; i < n; ++i) s += score(tab, order[t * 12 + i] & 15) * (i + 1);
    out[t] = (float)s;
}
