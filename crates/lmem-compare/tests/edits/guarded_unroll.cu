// A loop of unknown length over an array of 16: unrolled in full, with a guard in each round.
// right: 1 2 3
// wrong: 51 52 53 54 55
extern "C" __global__ void guarded_unroll(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[16];
    const int count = n < 16 ? n : 16;
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = k * 0.5f;
#if V == 0
    for (int k = 0; k < count; ++k) x[k] = in[i * 16 + k];
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += x[k] * x[15 - k];
#elif V == 1
#pragma unroll
    for (int k = 0; k < 16; ++k) { if (k >= count) break; x[k] = in[i * 16 + k]; }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) { if (k < count) sum += x[k] * x[15 - k]; }
#elif V == 2
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) x[k] = in[i * 16 + k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) sum += x[k] * x[15 - k];
#elif V == 3
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = k < count ? in[i * 16 + k] : x[k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) { if (!(k < count)) break; sum += x[k] * x[15 - k]; }
#elif V == 51
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k <= n) x[k] = in[i * 16 + k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) sum += x[k] * x[15 - k];
#elif V == 52
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) x[k] = in[i * 16 + k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 15; ++k) if (k < n) sum += x[k] * x[15 - k];
#elif V == 53
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = in[i * 16 + k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) sum += x[k] * x[15 - k];
#elif V == 54
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) x[k] = in[i * 16 + k];
    float sum = 0;
#pragma unroll
    for (int k = 1; k < 16; ++k) if (k < n) sum += x[k] * x[15 - k];
#elif V == 55
#pragma unroll
    for (int k = 0; k < 8; ++k) if (k < n) x[k] = in[i * 16 + k];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) if (k < n) sum += x[k] * x[15 - k];
#endif
    out[i] = sum;
}
