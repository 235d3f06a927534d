// launch: n = 0, 1, 6; m = 0
// a view keeps the element itself, which changes before it is asked
#include "beside_views.cuh"
extern "C" __global__ void beside_kept_reference(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int count = 0;
    for (int j = 0; j < n; j++) {
        Hits hits = meet(in + t + j, in[j]);
        int id = __float_as_uint(hits.near[j & 3]) & 3;
        View view(hits.hit[id]);
        for (int i = 0; i < 4; i++) hits.hit[i] = !hits.hit[i];
        if (view.get()) count = count * 5 + id;
    }
    out[t] = count;
}
