// launch: n = 1, 64; m = 0, 3, 8
// the start of a countdown is written in its rounds by an operator
#include "start_moved_by_operator.cuh"
extern "C" __global__ void start_moved_by_operator(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int w[8];
    int taps = (int)m;
    From from{n + order[0]};
    for (int j = 0; j < 8; ++j) w[j] = order[t * 8 + j] * 2 + 1;
    int s = 0;
    for (int r = 0; r < 64; ++r) {
        int x = order[r], y = 0;
#pragma unroll 1
        for (int j = taps - 1; j >= 0; --j) { y += w[j] * x; from >> taps; }
        s = s * 3 + y + x;
    }
    out[t] = s;
}
