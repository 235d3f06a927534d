// launch: n = 0, 5, 9; m = 0, 3
// elements change places
template <typename T> __device__ __forceinline__ void exchange(T& x, T& y) { T t = x; x = y; y = t; }
extern "C" __global__ void ctl_swapped_elements(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int deck[10];
    for (int i = 0; i < 10; ++i) deck[i] = i;
    for (int i = 9; i > 0; --i) {
        int j = order[t + i] % (i + 1);
        exchange(deck[i], deck[j]);
    }
    int s = 0;
    for (int i = 0; i < 10; ++i) s = s * 3 + deck[i];
    out[t] = s & 65535;
}
