// launch: n = 0, 1, 5, 12; m = 0, 3
// Fisher-Yates: swap of two elements that may be the same one
template <class T> __device__ __forceinline__ void exchange(T& a, T& b) { T c = a; a = b; b = c; }
extern "C" __global__ void swap_dynamic(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char p[12];
    for (int i = 0; i < 12; ++i) p[i] = i;
    for (int i = n - 1; i > 0; --i) exchange(p[i], p[order[t * 12 + i] % (i + 1)]);
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + in[t * 12 + p[i]];
    for (int i = 0; i < n; ++i) s += p[p[i]] * (float)(i + 1);
    out[t] = s;
}
