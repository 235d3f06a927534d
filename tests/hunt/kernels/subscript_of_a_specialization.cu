// launch: n = 0, 1, 5, 12; m = 0, 3
// a specialization of the operator gives an element for any index
template <class T, int N>
struct Vec {
    T data[N];
    int size;
    __device__ void push(const T& v) { data[size++] = v; }
    __device__ T& operator[](int i) { return data[i]; }
};
template <>
__device__ float& Vec<float, 8>::operator[](int i) { return data[i & 7]; }
extern "C" __global__ void subscript_of_a_specialization(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Vec<float, 8> v;
    v.size = 0;
    for (int i = 0; i < 8; ++i) v.data[i] = 0;
    for (int i = 0; i < n && i < 8; ++i)
        if (order[t + i] & 1) v.push(in[t + i]);
    float s = 0;
    for (int i = 0; i < n; ++i) s = s * 0.5f + v[i];
    out[t] = s + v.size;
}
