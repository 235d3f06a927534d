// launch: n = 0, 5, 12; m = 0, 3
// a trait on const T
template <class T> struct Scale { static constexpr int value = 1; };
template <class T> struct Scale<const T> { static constexpr int value = 10; };
template <class T> __device__ __forceinline__ int pick(T* p, int k) { return p[k] * Scale<T>::value; }
extern "C" __global__ void template_by_constness(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int tab[16] = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    int s = 0;
    for (int i = 0; i < n; ++i) s += pick(tab, order[t * 12 + i] & 15) * (i + 1);
    out[t] = (float)s;
}
