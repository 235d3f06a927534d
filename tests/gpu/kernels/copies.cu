// Bytes that are copied, as many as are known at run time only.

#include <cstring>

extern "C" __global__ void some_of_a_row(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int used = rounds / 4;
    float row[24];
    float total = 0.0f;
    for (int r = 0; r < 16; ++r) {
        memset(row, 0, sizeof(row));
        memcpy(row, x + 32 * ((i + r) & 0xffff), used * sizeof(float));
        float sum = 0.0f;
#pragma unroll
        for (int t = 0; t < 24; ++t) sum = 0.5f * sum + row[t] * row[23 - t];
        total += sum;
    }
    out[i] = total;
}
