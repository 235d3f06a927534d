// Edits beside what a header declares.
#include "beside.cuh"

__global__ void hits_in_order(const float *in, int *out, int n) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int count = 0;
    for (int j = 0; j < n; j++) {
        Hits hits = meet(in + 8 * tid + j, 2.0f * Ray(in[j], in[j + 1])); //~ dynamic_index
        for (int i = 0; i < 4; i++) {
            int id = __float_as_uint(hits.near[i]) & 3;
            if (hits.hit[id]) {
                out[count * n + tid] = id * j + __float2int_rn(hits.near[i]);
                count++;
            }
        }
    }
}
