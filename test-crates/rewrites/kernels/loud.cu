// A loop whose length is a parameter, beside operators of a header.
#include "loud.cuh"

__global__ void taps_beside_loud(const float *in, float *out, int taps, int n) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float ring[8]; //~ rolled_loop
    for (int i = 0; i < taps; ++i) ring[i] = in[tid + i * n] * 2.0f;
    float total = 0;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < taps; ++i) total += ring[i] * in[j * taps + i];
    }
    out[tid] = total;
}
