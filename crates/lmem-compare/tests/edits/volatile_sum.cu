// A barrier that moves, and a sum that all threads of a block see.
// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void __launch_bounds__(64) volatile_sum(const int *in, int *out, int n) {
    __shared__ int total[64];
    int part[4] = {0, 0, 0, 0};
    const int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = 0; k < n; ++k) {
        const int w = in[i * n + k] & 3;
#if V == 0 || V == 51 || V == 53
        part[w] += k + 1;
#elif V == 52
#pragma unroll
        for (int j = 1; j < 4; ++j) if (j == w) part[j] += k + 1;
#else
#pragma unroll
        for (int j = 0; j < 4; ++j) if (j == w) part[j] += k + 1;
#endif
    }
#if V == 2
    total[threadIdx.x] = part[3] + part[2] + part[1] + part[0];
#elif V == 53
    total[threadIdx.x] = part[0] + part[1] + part[2];
#else
    total[threadIdx.x] = part[0] + part[1] + part[2] + part[3];
#endif
#if V != 51
    __syncthreads();
#endif
    int sum = 0;
    for (unsigned t = 0; t < blockDim.x; ++t) sum += total[t];
    out[i] = sum;
}
