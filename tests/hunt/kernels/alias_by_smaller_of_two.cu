// launch: n = 0, 1, 7; m = 0, 3
// a function gives back its argument
template <class T> __device__ const T& smaller(const T& a, const T& b) { return b < a ? b : a; }
extern "C" __global__ void alias_by_smaller_of_two(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[6];
    for (int i = 0; i < 6; ++i) a[i] = in[t * 6 + i];
    const int at = order[t] % 6;
    const float& r = smaller(a[at], a[5 - at]);
    for (int i = 0; i < n; ++i) a[order[t + i] % 6] += 1.0f + r;
    float s = r;
    for (int i = 0; i < 6; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
