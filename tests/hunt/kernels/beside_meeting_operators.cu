// launch: n = 0, 3, 8; m = 0, 5
// which threads meet in the header's operator depends on where those with fewer rounds are
#include "beside_meeting.cuh"
extern "C" __global__ void beside_meeting_operators(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float ring[8];
    int own = n - (t & 1) * (n > 0);
    for (int i = 0; i < own; ++i) ring[i] = in[t + i] * 2.0f;
    float total = 0;
    for (unsigned j = 0; j < m; ++j) {
        for (int i = 0; i < own; ++i) total = total + Shared(ring[i] * in[j + i]);
    }
    out[t] = total;
}
