// A tile in shared memory, with a barrier.
// right: 1 2 3
// wrong: 51 52 53 54
extern "C" __global__ void __launch_bounds__(64) transpose(const int *in, int *out, int width) {
    __shared__ int tile[64];
    int local[4];
    const int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        tile[threadIdx.x] = in[k * width + i];
#if V == 51
        local[k] = tile[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
#elif V == 52
        __syncthreads();
        local[k] = tile[threadIdx.x];
        __syncthreads();
#elif V == 53
        if (k < 3) __syncthreads();
        local[k] = tile[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
#else
        __syncthreads();
        local[k] = tile[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
#endif
    }
    const int w = in[i] & 3;
#if V == 0 || V == 51 || V == 52 || V == 53
    out[i] = local[w];
#elif V == 1
    out[i] = w == 0 ? local[0] : w == 1 ? local[1] : w == 2 ? local[2] : local[3];
#elif V == 2
    int x = local[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) if (k == w) x = local[k];
    out[i] = x;
#elif V == 3
    const int a = w & 1 ? local[1] : local[0], b = w & 1 ? local[3] : local[2];
    out[i] = w & 2 ? b : a;
#elif V == 54
    out[i] = w == 0 ? local[0] : w == 1 ? local[1] : local[2];
#endif
}
