// A loop whose length is a parameter, beside operators of a header.
#include "quiet.cuh"

__global__ void taps_beside_quiet(const float *in, float *out, int taps, int n) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float ring[8]; //~ rolled_loop
    for (int i = 0; i < taps; ++i) ring[i] = in[tid + i * n] * 2.0f;
    float total = 0;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < taps; ++i) total += weight(ring[i] * in[j * taps + i], j);
    }
    out[tid] = total;
}
