// A shared array for blocks of 64 threads: larger blocks leave it in the original.
// right: 1
// wrong: 51
extern "C" __global__ void fixed_shared(const float *in, const int *at, float *out, int n) {
    __shared__ float total[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 0
    float a[4];
#define ROW(k) a[k]
#else
    __shared__ float column[4][64];
#if V == 1
#define ROW(k) column[k][t]
#else
#define ROW(k) column[k][t & 31]
#endif
#endif
    for (int k = 0; k < 4; ++k) ROW(k) = in[i * 4 + k];
    total[t] = ROW(at[i] & 3);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; ++k) sum = sum * 0.5f + ROW(3 - (k & 3)) + total[(t ^ 1) < (int)blockDim.x ? t ^ 1 : t];
    out[i] = sum;
}
