extern "C" __global__ void spread(const int *in, int *out, int n) {
    int slot[14]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 14; ++k) slot[k] = 0;
    for (int k = 0; k < n; ++k) slot[in[k * 32 + threadIdx.x] % 14] += k;
#pragma unroll
    for (int k = 0; k < 14; ++k) out[k * 32 + threadIdx.x] = slot[k];
}
