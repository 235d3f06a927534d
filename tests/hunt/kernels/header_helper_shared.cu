// launch: n = 0, 1, 5, 12; m = 0, 3
// the loop is in a header that two kernels include with different settings
#define HH_EXTENT 12
#include "header_helper_shared.cuh"
#undef HH_EXTENT
#define HH_EXTENT 6
#include "header_helper_shared.cuh"
extern "C" __global__ void header_helper_shared(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = hh_12(in + t * 12, order + t * 12, n) + hh_6(in + t * 12, order + t * 12, n);
}
