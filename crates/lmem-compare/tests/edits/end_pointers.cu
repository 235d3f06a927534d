// Loops that end at a pointer: the end of one array is the start of the next.
// right: 1 2
// wrong: 51 52
extern "C" __global__ void end_pointers(const float *in, const int *skip, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a[4], b[4], c[5];
    for (int k = 0; k < 4; ++k) a[k] = in[i * 13 + k];
    for (int k = 0; k < 4; ++k) b[k] = in[i * 13 + 4 + k];
    for (int k = 0; k < 5; ++k) c[k] = in[i * 13 + 8 + k];
    const int from = skip[i];
    float sum = 0;
#if V == 0
    for (const float *p = a + from; p < a + 4; ++p) sum = sum * 0.5f + *p;
    for (const float *p = b + 4; p != b + from; ) sum = sum * 0.5f - *--p;
    for (float *p = c; p < c + n; ++p) { *p += sum; sum *= 0.5f; }
#elif V == 1
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k >= from) sum = sum * 0.5f + a[k];
#pragma unroll
    for (int k = 3; k >= 0; --k) if (k >= from) sum = sum * 0.5f - b[k];
#pragma unroll
    for (int k = 0; k < 5; ++k) if (k < n) { c[k] += sum; sum *= 0.5f; }
#elif V == 2
    for (int k = from; k < 4; ++k) sum = sum * 0.5f + a[k];
    for (int k = 3; k >= from; --k) sum = sum * 0.5f - b[k];
    for (int k = 0; k < n; ++k) { c[k] += sum; sum *= 0.5f; }
#elif V == 51
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k > from) sum = sum * 0.5f + a[k];
#pragma unroll
    for (int k = 3; k >= 0; --k) if (k >= from) sum = sum * 0.5f - b[k];
#pragma unroll
    for (int k = 0; k < 5; ++k) if (k < n) { c[k] += sum; sum *= 0.5f; }
#elif V == 52
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k >= from) sum = sum * 0.5f + a[k];
#pragma unroll
    for (int k = 0; k < 4; ++k) if (k >= from) sum = sum * 0.5f - b[k];
#pragma unroll
    for (int k = 0; k < 5; ++k) if (k < n) { c[k] += sum; sum *= 0.5f; }
#endif
    for (int k = 0; k < 5; ++k) sum = sum * 0.5f + c[k];
    out[i] = sum;
}
