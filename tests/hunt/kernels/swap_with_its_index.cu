// launch: n = 0, 5, 9; m = 0, 3
// the index is the variable that is exchanged
template <typename T> __device__ void exchange(T& x, T& y) { T t = x; x = y; y = t; }
extern "C" __global__ void swap_with_its_index(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[8];
    for (int i = 0; i < 8; ++i) a[i] = order[t * 8 + i] & 7;
    int x = order[t] & 7;
    for (int i = 0; i < n; ++i) exchange(x, a[x]);
    int s = x;
    for (int i = 0; i < 8; ++i) s = s * 3 + a[i];
    out[t] = s & 65535;
}
