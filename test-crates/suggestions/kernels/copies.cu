#include <cstring>
__global__ void head(const float* in, float* out, int n, int m)
{
    float window[16];
    memset(window, 0, sizeof(window));
    memcpy(window, in + threadIdx.x * m, n * sizeof(float));
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k)
        sum += window[k] * window[15 - k];
    out[threadIdx.x] = sum;
}
__global__ void tail(const int* in, int* out, int n)
{
    int record[8];
    for (int k = 0; k < 8; ++k) record[k] = in[k * 32 + threadIdx.x] * 3;
    memcpy(out + 8 * threadIdx.x, record, sizeof(int) * n);
}
__global__ void bytes(const unsigned char* in, unsigned char* out, int n)
{
    unsigned char record[16];
    memset(record, 0xff, n);
    for (int k = 0; k < 16; ++k) if (k >= n) record[k] = in[k];
    for (int k = 0; k < n; ++k) out[k + threadIdx.x * 16] = record[k];
}
