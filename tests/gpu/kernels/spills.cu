// More values than registers are allowed.

__device__ __forceinline__ float mix(const float *x, float *out, int n, int rounds, int i)
{
    float v[44];
#pragma unroll
    for (int t = 0; t < 44; ++t)
        v[t] = x[(t & 63) * n + i];
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int t = 0; t < 44; ++t)
            v[t] = 0.5f * v[t] + 0.25f * v[(t * 7 + 3) % 44];
    }
    float sum = 0.0f;
#pragma unroll
    for (int t = 0; t < 44; ++t)
        sum += v[t];
    return sum;
}

extern "C" __global__ void __launch_bounds__(256, 5) five_blocks(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = mix(x, out, n, rounds, i);
}

extern "C" __global__ void __launch_bounds__(256, 6) six_blocks(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * mix(x, out, n, rounds, i);
}

extern "C" __global__ void __maxnreg__(48) capped(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 3.0f * mix(x, out, n, rounds, i);
}
