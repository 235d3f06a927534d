// launch: n = 0, 3, 12; m = 0, 3
// the primary template is walked differently from the specialisation
template <class T> struct Fold { static __device__ T go(const T* v, int n) { T s = 0; for (int i = 0; i < n; ++i) s = s / 2 + v[i]; return s; } };
template <> struct Fold<int> { static __device__ int go(const int* v, int n) { int s = 0; for (int i = n; i > 0; --i) s = s * 3 + v[i - 1] % 5; return s; } };
template <class T> __device__ __forceinline__ T run(const float* in, const int* order, int t, int n)
{
    T a[12];
    for (int i = 0; i < n; ++i) a[i] = (T)(in[t * 12 + i] * 8.0f);
    for (int i = 0; i < n; ++i) a[order[t + i] % n] += a[i];
    return Fold<T>::go(a, n);
}
extern "C" __global__ void template_specialised(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * t] = run<float>(in, order, t, n);
    out[2 * t + 1] = (float)run<int>(in, order, t, n);
}
