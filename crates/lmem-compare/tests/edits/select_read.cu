// right: 1 2 3
// wrong: 51 52 53 54
extern "C" __global__ void select_read(const float *in, const int *which, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[6];
    for (int k = 0; k < 6; ++k) x[k] = in[i * 6 + k];
    const int w = which[i];
#if V == 0
    out[i] = x[w];
#elif V == 1
    float y = x[0];
#pragma unroll
    for (int k = 1; k < 6; ++k) y = k == w ? x[k] : y;
    out[i] = y;
#elif V == 2
    out[i] = w == 0 ? x[0] : w == 1 ? x[1] : w == 2 ? x[2] : w == 3 ? x[3] : w == 4 ? x[4] : x[5];
#elif V == 3
    const float a = w & 1 ? x[1] : x[0], b = w & 1 ? x[3] : x[2], c = w & 1 ? x[5] : x[4];
    out[i] = w & 4 ? c : w & 2 ? b : a;
#elif V == 51
    float y = x[0];
#pragma unroll
    for (int k = 1; k < 5; ++k) y = k == w ? x[k] : y;
    out[i] = y;
#elif V == 52
    out[i] = w == 0 ? x[0] : w == 2 ? x[1] : w == 1 ? x[2] : w == 3 ? x[3] : w == 4 ? x[4] : x[5];
#elif V == 53
    const float a = w & 1 ? x[1] : x[0], b = w & 1 ? x[3] : x[2], c = w & 1 ? x[5] : x[4];
    out[i] = w & 2 ? b : w & 4 ? a : c;
#elif V == 54
    out[i] = in[i * 5 + w];
#endif
}
