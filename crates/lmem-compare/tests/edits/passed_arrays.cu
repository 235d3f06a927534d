// Both arrays are passed to a function that was not inlined, with a length.
// right: 1 2
// wrong: 51 52 53
__device__ __noinline__ float total(const float *values, int count) {
    float sum = 0;
    for (int k = 0; k < count; ++k) sum = sum * 0.5f + values[k];
    return sum;
}
__device__ __forceinline__ float inlined(const float *values, int count, int extent, int last) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < extent; ++k) if (k < count + last) sum = sum * 0.5f + values[k];
    return sum;
}
extern "C" __global__ void passed_arrays(const float *in, float *out, int n, int m) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a[5], b[7];
    for (int k = 0; k < 5; ++k) a[k] = in[i * 12 + k];
    for (int k = 0; k < 7; ++k) b[k] = in[i * 12 + 5 + k];
#if V == 0
    out[i] = total(a, n) - total(b, m);
#elif V == 1
    out[i] = inlined(a, n, 5, 0) - inlined(b, m, 7, 0);
#elif V == 2
    out[i] = inlined(a, n, 5, 0) - total(b, m);
#elif V == 51
    out[i] = inlined(a, n, 4, 0) - inlined(b, m, 7, 0);
#elif V == 52
    out[i] = inlined(a, n, 5, 0) - inlined(b, m, 7, 1);
#elif V == 53
    out[i] = inlined(b, n, 5, 0) - inlined(a, m, 5, 0);
#endif
}
