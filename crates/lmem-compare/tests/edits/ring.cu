// A ring buffer whose head moves: kept in the order of its age.
// right: 1 2
// wrong: 51 52 53 54
extern "C" __global__ void ring(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float last[4] = {0, 0, 0, 0};
#if V == 0
    int head = 0;
#endif
#if V == 2
    int at = 0;
#endif
    for (int k = 0; k < n; ++k) {
        const float x = in[i * n + k];
#if V == 0
        last[head] = x;
        head = (head + 1) & 3;
        out[i * n + k] = last[head] + 0.5f * last[(head + 3) & 3];
#elif V == 1
        last[0] = last[1]; last[1] = last[2]; last[2] = last[3]; last[3] = x;
        out[i * n + k] = last[0] + 0.5f * last[3];
#elif V == 2
#pragma unroll
        for (int j = 0; j < 4; ++j) if (j == at) last[j] = x;
        at = at == 3 ? 0 : at + 1;
        float oldest = last[0];
#pragma unroll
        for (int j = 1; j < 4; ++j) oldest = j == at ? last[j] : oldest;
        out[i * n + k] = oldest + 0.5f * x;
#elif V == 51
        last[0] = last[1]; last[1] = last[2]; last[2] = last[3]; last[3] = x;
        out[i * n + k] = last[1] + 0.5f * last[3];
#elif V == 52
        out[i * n + k] = last[0] + 0.5f * last[3];
        last[0] = last[1]; last[1] = last[2]; last[2] = last[3]; last[3] = x;
#elif V == 53
        last[3] = x; last[0] = last[1]; last[1] = last[2]; last[2] = last[3];
        out[i * n + k] = last[0] + 0.5f * last[3];
#elif V == 54
        last[0] = last[1]; last[1] = last[2]; last[2] = x;
        out[i * n + k] = last[0] + 0.5f * last[2];
#endif
    }
}
