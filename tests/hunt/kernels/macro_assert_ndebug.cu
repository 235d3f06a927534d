// launch: n = 0, 3, 9; m = 0, 3
// with NDEBUG the argument of assert (and its side effect) is gone; without the loop ++checked would count
#define NDEBUG
#include <cassert>
extern "C" __global__ void macro_assert_ndebug(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int bins[9];
    int checked = 0;
    for (int k = 0; k < 9; ++k) bins[k] = 0;
    for (int i = 0; i < n; ++i) {
        int k = order[t * 9 + i] % 9;
        assert(++checked && k < 9 && (bins[k] = i) >= 0);
        bins[k] += i + 1;
    }
    for (int k = 0; k < 9; ++k) out[t * 9 + k] = (float)bins[k];
    out[t + 8192 * 9] = (float)checked;
}
