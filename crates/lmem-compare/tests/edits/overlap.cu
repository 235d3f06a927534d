// Pointers of one type may lead to the same memory. The kernel copies what it reads before it writes.
// right: 1 2 3 4 56
// wrong: 51 52 53 54 55 57

extern "C" __global__ void overlap(const float *in, float *out, const float *factor, int first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float copy[8];
    const float *row = in + i * 8;
    float *to = out + i * 8;
#if V == 2
    for (int k = 7; k >= 0; --k) copy[k] = row[k];
#elif V == 53
    for (int k = 0; k < 8; ++k) { copy[k] = row[k]; to[k] = 0.f; }
#else
#pragma unroll
    for (int k = 0; k < 8; ++k) copy[k] = row[k];
#endif
#if V == 1
    float a = copy[0];
#pragma unroll
    for (int k = 1; k < 8; ++k) if (k == (first & 7)) a = copy[k];
#elif V == 51
    float a = 0.f;
#else
    float a = copy[first & 7];
#endif
#if V == 55
    float scale = factor[0];
#endif
    for (int k = 0; k < 8; ++k) {
#if V == 3
        float value = 0.f;
#pragma unroll
        for (int j = 0; j < 8; ++j) if (j == ((first + k) & 7)) value = copy[j];
#elif V == 51 || V == 57
        float value = row[(first + k) & 7];
#elif V == 52
        float value = k == 7 ? row[(first + k) & 7] : copy[(first + k) & 7];
#elif V == 54
        float value = (k & 1) != 0 ? row[(first + k) & 7] : copy[(first + k) & 7];
#else
        float value = copy[(first + k) & 7];
#endif
#if V == 51
        if (k == 0) a = value;
#endif
#if V == 55
        to[k] = value * scale + a;
#elif V == 56
        float before = to[(k + 1) & 7];
        to[k] = value * factor[0] + a;
        if (k < 7) to[k + 1] = before;
        if (k == 7) to[0] = before;
#elif V == 4
        float scale = factor[0];
        float product = value * scale;
        to[k] = product + a;
#else
        to[k] = value * factor[0] + a;
#endif
    }
}
