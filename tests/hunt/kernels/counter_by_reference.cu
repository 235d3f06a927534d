// launch: n = 1, 5, 12; m = 0, 3
// the helper moves the counter through a reference
static __device__ __forceinline__ float eat(const float* src, int& pos) { const float v = src[pos]; if (v < 0) ++pos; return v; }
extern "C" __global__ void counter_by_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[13] = {};
    for (int i = 0; i < n; ++i) { const int at = i; a[at] = eat(in + t * 16, i); }
    for (int i = 0; i < n; ++i) a[order[t + i] % n] += a[n - 1 - i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i] + a[order[t + i] % n];
    out[t] = s;
}
