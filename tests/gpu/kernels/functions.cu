// Arrays of functions that are inlined.

__device__ int distinct(const int *k, int n, int i, int r)
{
    unsigned char seen[40];
    for (int c = 0; c < 40; ++c) seen[c] = 0;
    int count = 0;
    for (int t = 0; t < 24; ++t) {
        const int value = (k[((r + t) & 63) * n + i] & 0xffff) % 40;
        if (!seen[value]) ++count;
        seen[value] = 1;
    }
    return count;
}

extern "C" __global__ void distinct_values(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = 0;
    for (int r = 0; r < rounds / 4; ++r) total += distinct(k, n, i, r) ^ r;
    out[i] = total;
}
