// launch: n = 0, 1, 5, 12; m = 0, 3
// handed over as const, and written all the same behind a const_cast (legal: the parameter is not const)
struct Setup { const float* in; const int* order; float* out; int n; unsigned m; float gain[16]; };
static __device__ __noinline__ float use(const Setup* p, int k)
{
    float& g = const_cast<Setup*>(p)->gain[k];
    g = g * 0.5f + 1.0f;
    return g;
}
extern "C" __global__ void const_cast_by_value(Setup s)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float r = 0.0f;
    for (int i = 0; i < s.n; ++i) r = r * 0.5f + use(&s, s.order[t * 12 + i] & 15);
    for (int i = 0; i < 16; ++i) r = r * 0.5f + s.gain[i];
    s.out[t] = r;
}
