// launch: n = 0, 1, 5, 9; m = 0, 3
// the address of the array is in a structure that a function gets by value
struct Span { const float* p; int len; __device__ float operator[](int i) const { return p[i]; } };
__device__ __noinline__ float weighted(Span v, Span w)
{
    float s = 0;
    for (int i = 0; i < v.len; ++i) s += v[i] * w[i];
    return s;
}
extern "C" __global__ void ctl_span_by_value(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[9];
    for (int i = 0; i < 9; ++i) a[i] = in[t + i] * 0.5f;
    out[t] = weighted(Span{a, 9}, Span{in, 9}) + weighted(Span{a, 9}, Span{in + t, n});
}
