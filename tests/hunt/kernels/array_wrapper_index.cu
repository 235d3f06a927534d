// launch: n = 0, 3, 12; m = 0, 3
// control: wrapper class with operator[]
template <class T, int N> struct Vec { T v[N]; __device__ T& operator[](int i) { return v[i]; } __device__ const T& operator[](int i) const { return v[i]; } };
extern "C" __global__ void array_wrapper_index(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Vec<float, 12> v;
    for (int i = 0; i < n; ++i) v[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + v[n - 1 - i];
    out[t] = s;
}
