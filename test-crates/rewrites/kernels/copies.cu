// Bytes that are copied or filled, as many as are known at run time only.

#include <cstring>

extern "C" __global__ void head(const float *in, float *out, int used, int stride) {
    float row[16]; //~ rolled_loop
    memset(row, 0, sizeof(row));
    memcpy(row, in + threadIdx.x * stride, used * sizeof(float));
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += row[k] * row[15 - k];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void tail(const int *in, int *out, int used) {
    int record[8]; //~ rolled_loop
    for (int k = 0; k < 8; ++k) record[k] = in[k * 32 + threadIdx.x] * 3;
    memcpy(&out[8 * threadIdx.x], record, sizeof(int) * used);
}

// The length is a number of bytes, of which the elements have several.
extern "C" __global__ void some_bytes(const int *in, int *out, int bytes) {
    int record[8]; //~ rolled_loop
    for (int k = 0; k < 8; ++k) record[k] = in[k * 32 + threadIdx.x] * 3;
    memcpy(&out[8 * threadIdx.x], record, bytes);
}

// All of it: nothing is in local memory.
extern "C" __global__ void whole(const int *in, int *out) {
    int record[8];
    for (int k = 0; k < 8; ++k) record[k] = in[k * 32 + threadIdx.x] * 3;
    memcpy(&out[8 * threadIdx.x], record, sizeof(record));
}
