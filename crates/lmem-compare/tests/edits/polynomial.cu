// Coefficients in reverse; sums keep their order.
// right: 1 2
// wrong: 51 52 53
extern "C" __global__ void polynomial(const float *c, const float *x, float *out, int degree) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = c[k];
    const int d = degree & 7;
    float y = 0;
#if V == 0
    for (int k = d; k >= 0; --k) y = y * x[i] + a[k];
#elif V == 1
#pragma unroll
    for (int k = 7; k >= 0; --k) if (k <= d) y = y * x[i] + a[k];
#elif V == 2
    const float v = x[i];
#pragma unroll
    for (int k = 7; k >= 0; --k) y = k <= d ? y * v + a[k] : y;
#elif V == 51
#pragma unroll
    for (int k = 7; k >= 0; --k) if (k < d) y = y * x[i] + a[k];
#elif V == 52
#pragma unroll
    for (int k = 0; k < 8; ++k) if (k <= d) y = y * x[i] + a[k];
#elif V == 53
#pragma unroll
    for (int k = 7; k > 0; --k) if (k <= d) y = y * x[i] + a[k];
#endif
    out[i] = y;
}
