// right: 1 2
// wrong: 51 52 53 54
extern "C" __global__ void side_effect(const int *in, int *out, int *count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int seen[5] = {0, 0, 0, 0, 0};
    int at = i * n;
    for (int k = 0; k < n; ++k) {
#if V == 0
        const int b = in[at++] & 3;
        seen[b + (k & 1)] += k;
        if (b == 3) atomicAdd(count, 1);
#elif V == 1
        const int b = in[at++] & 3, c = b + (k & 1);
#pragma unroll
        for (int j = 0; j < 5; ++j) if (j == c) seen[j] += k;
        if (b == 3) atomicAdd(count, 1);
#elif V == 2
        const int b = in[at] & 3, c = b + k % 2;
        at += 1;
        if (b == 3) atomicAdd(count, 1);
#pragma unroll
        for (int j = 0; j < 5; ++j) seen[j] += j == c ? k : 0;
#elif V == 51
        const int b = in[at++] & 3, c = b + (k & 1);
#pragma unroll
        for (int j = 0; j < 5; ++j) if (j == c) seen[j] += k;
#elif V == 52
        const int b = in[at] & 3, c = b + (k & 1);
#pragma unroll
        for (int j = 0; j < 5; ++j) if (j == c) { seen[j] += k; at++; }
        if (b == 3 && c == 3) atomicAdd(count, 1);
#elif V == 53
        const int c = (in[at++] & 3) + (k & 1), b = in[at] & 3;
#pragma unroll
        for (int j = 0; j < 5; ++j) if (j == c) seen[j] += k;
        if (b == 3) atomicAdd(count, 1);
#elif V == 54
        const int b = in[at++] & 3, c = b + (k & 1);
#pragma unroll
        for (int j = 0; j < 4; ++j) if (j == c) seen[j] += k;
        if (b == 3) atomicAdd(count, 1);
#endif
    }
    for (int j = 0; j < 5; ++j) out[i * 5 + j] = seen[j];
}
