// launch: n = 0, 3, 8; m = 0, 3
// TRACE is compiled out: the use of the array in it exists only in the text
#ifdef WITH_TRACE
#define TRACE(...) printf(__VA_ARGS__)
#else
#define TRACE(...) ((void)0)
#endif
#include <cstdio>
extern "C" __global__ void macro_trace_uses(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float hist[8] = {0};
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 8 + i] % 8;
        hist[k] += in[t * 8 + i];
        TRACE("%d %f\n", k, hist[k]);
    }
    TRACE("address %p\n", (void*)hist);
    for (int k = 0; k < 8; ++k)
        out[t * 8 + k] = hist[k];
}
