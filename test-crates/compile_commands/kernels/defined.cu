// `LENGTH` and the folder of the header come from the database; without them this does not compile.
#include "scale.cuh"

extern "C" __global__ void defined(const int *index, const float *in, float *out, int n) {
    float bins[LENGTH] = {}; //~ dynamic_index
    for (int i = 0; i < n; ++i) {
        bins[index[i]] += SCALE * in[i];
    }
    for (int i = 0; i < LENGTH; ++i) out[threadIdx.x * LENGTH + i] = bins[i];
}
