// launch: n = 0, 5, 9; m = 0, 3
// a lambda with the name of a function that exchanges two values does not
template <typename T> __device__ void exchange(T& x, T& y) { T t = x; x = y; y = t; }
extern "C" __global__ void swap_hidden_by_a_lambda(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[8];
    for (int i = 0; i < 8; ++i) a[i] = order[t * 8 + i] & 255;
    auto exchange = [](int& x, int& y) { int t = x; x = y; y = t + 1; };
    for (int i = 0; i < n; ++i) exchange(a[order[t + i] & 7], a[order[t + i + 1] & 7]);
    int s = 0;
    for (int i = 0; i < 8; ++i) s = s * 3 + a[i];
    out[t] = s & 65535;
}
