// launch: n = 1, 5, 20; m = 0, 3
// what looks like a function of CUDA's is a macro that calls one with effects
#define max(a, b) (most(&calls, (a), (b)))
__device__ __forceinline__ int most(int* calls, int a, int b)
{
    *calls += 1;
    return a > b ? a : b;
}
extern "C" __global__ void macro_lower_min_writes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int calls = 0;
    float kept[24];
    for (int i = 0; i < 24; ++i) kept[i] = in[t * 24 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += kept[max((order[t + i] + calls) & 15, (int)m)];
    out[t] = s + (float)calls;
}
