// launch: n = 0, 1, 7; m = 0, 3
// a trait makes the type a reference
template <class T> struct Add { typedef T& type; };
extern "C" __global__ void alias_by_trait(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[6];
    for (int i = 0; i < 6; ++i) a[i] = in[t * 6 + i];
    const int at = order[t] % 6;
    typename Add<float>::type r = a[at];
    for (int i = 0; i < n; ++i) a[order[t + i] % 6] += 1.0f + r;
    float s = r;
    for (int i = 0; i < 6; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
