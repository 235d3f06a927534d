// Its neighbours do not compile; this one does, and is checked.
extern "C" __global__ void sound(const int *in, int *out, int n) {
    int seen[20]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 20; ++k) seen[k] = 0;
    for (int k = 0; k < n; ++k) seen[in[k * 32 + threadIdx.x] % 20] = k;
#pragma unroll
    for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = seen[k];
}
