// launch: n = 4, 6, 12; m = 0, 3
// the array's extent depends on #if, and the text names the wrong one first
#ifdef __CUDA_ARCH__
#define CAP 12
#else
#define CAP 8
#endif
extern "C" __global__ void if_bound_differs(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[CAP];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[order[t * 12 + i] % n];
    out[t] = s;
}
