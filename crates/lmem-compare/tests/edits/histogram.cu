// right: 1 2 3 4
// wrong: 51 52 53 54 55
extern "C" __global__ void histogram(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 4 || V == 55
    __shared__ int bins[8][128];
#if V == 4
    for (int j = 0; j < 8; ++j) bins[j][threadIdx.x] = 0;
#else
    for (int j = 0; j < 7; ++j) bins[j][threadIdx.x] = 0;
#endif
    for (int k = 0; k < n; ++k) bins[in[i * n + k] & 7][threadIdx.x]++;
    for (int j = 0; j < 8; ++j) out[i * 8 + j] = bins[j][threadIdx.x];
#else
    int bins[8] = {0};
    for (int k = 0; k < n; ++k) {
        const int b = in[i * n + k] & 7;
#if V == 0
        bins[b]++;
#elif V == 1
#pragma unroll
        for (int j = 0; j < 8; ++j) if (j == b) bins[j]++;
#elif V == 2
#pragma unroll
        for (int j = 0; j < 8; ++j) bins[j] += j == b;
#elif V == 3
        switch (b) {
        case 0: bins[0]++; break; case 1: bins[1]++; break; case 2: bins[2]++; break; case 3: bins[3]++; break;
        case 4: bins[4]++; break; case 5: bins[5]++; break; case 6: bins[6]++; break; default: bins[7]++; break;
        }
#elif V == 51
#pragma unroll
        for (int j = 0; j < 7; ++j) if (j == b) bins[j]++;
#elif V == 52
#pragma unroll
        for (int j = 0; j < 8; ++j) if (j <= b) bins[j]++;
#elif V == 53
#pragma unroll
        for (int j = 0; j < 8; ++j) bins[j] = j == b ? 1 : bins[j];
#elif V == 54
        switch (b) {
        case 0: bins[0]++; break; case 1: bins[1]++; break; case 2: bins[2]++; case 3: bins[3]++; break;
        case 4: bins[4]++; break; case 5: bins[5]++; break; case 6: bins[6]++; break; default: bins[7]++; break;
        }
#endif
    }
    for (int j = 0; j < 8; ++j) out[i * 8 + j] = bins[j];
#endif
}
