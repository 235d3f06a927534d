// right: 1 2
// wrong: 51 52
#include <cuda_fp16.h>
extern "C" __global__ void halves(const __half *in, __half *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half x[4];
    for (int k = 0; k < 4; ++k) x[k] = in[i * 4 + k];
    const int w = (i + n) & 3;
#if V == 0
    out[i] = __hadd(x[w], x[0]);
#elif V == 1
    __half v = x[0];
#pragma unroll
    for (int k = 1; k < 4; ++k) if (k == w) v = x[k];
    out[i] = __hadd(v, x[0]);
#elif V == 2
    out[i] = __hadd(w == 0 ? x[0] : w == 1 ? x[1] : w == 2 ? x[2] : x[3], x[0]);
#elif V == 51
    __half v = x[0];
#pragma unroll
    for (int k = 1; k < 4; ++k) if (k == w) v = x[k];
    out[i] = __hadd(v, v);
#elif V == 52
    out[i] = __hadd(w == 0 ? x[0] : w == 1 ? x[2] : w == 2 ? x[1] : x[3], x[0]);
#endif
}
