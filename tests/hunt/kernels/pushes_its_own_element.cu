// launch: n = 0, 1, 5, 11; m = 0, 3
// the value that is pushed is an element, or the counter, by reference
template <typename T, int Cap>
struct Vec {
    T data[Cap];
    T size = 0;
    __device__ void push(const T& v) { data[size++] = v; }
    __device__ T pop() { return data[--size]; }
    __device__ T& operator[](int i) { return data[i]; }
};
extern "C" __global__ void pushes_its_own_element(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Vec<int, 24> v;
    v.push(order[t] & 15);
    for (int i = 0; i < n; ++i) {
        if (order[t + i] & 1) v.push(v[i & 1 & (v.size - 1)]);
        else v.push(v.size);
        if ((order[t + i] & 6) == 6) v.push(v.pop() + 1);
    }
    int s = v.size;
    for (int i = 0; i < v.size; ++i) s = s * 31 % 65521 + v[i];
    out[t] = (float)s;
}
