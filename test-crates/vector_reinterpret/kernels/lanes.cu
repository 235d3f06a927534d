// Variables that are accessed as another type, through a cast.

#include <cuda_fp16.h>

#define AS_BYTES(value) (reinterpret_cast<const unsigned char *>(&(value)))

// One of eight halves of a vector.
__global__ void pick_half(const uint4 *in, const int *lane, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 packed = in[i]; //~ vector_reinterpret
    const __half *half = reinterpret_cast<const __half *>(&packed);
    out[i] = __half2float(half[lane[i] & 7]);
}

// The component is selected, then the half taken out of it.
__global__ void pick_half_selected(const uint4 *in, const int *lane, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 packed = in[i];
    int k = lane[i] & 7;
    unsigned low = (k & 2) ? packed.y : packed.x;
    unsigned high = (k & 2) ? packed.w : packed.z;
    unsigned pair = (k & 4) ? high : low;
    out[i] = __half2float(__ushort_as_half((unsigned short)((k & 1) ? pair >> 16 : pair)));
}

// Bytes, in a loop of unknown length, with a cast in the style of C.
__global__ void unpack(const int4 *in, unsigned char *out, int n) {
    int4 word = in[threadIdx.x]; //~ vector_reinterpret
    for (int k = 0; k < n; ++k) out[k * 32 + threadIdx.x] = ((unsigned char *)&word)[k & 15];
}

// Through a macro.
__global__ void checksum(const int4 *in, const int *at, int *out, int n) {
    int4 word = in[threadIdx.x]; //~ vector_reinterpret
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += AS_BYTES(word)[at[k] & 15];
    out[threadIdx.x] = sum;
}

// Halves are gathered one by one, and stored as one vector.
__global__ void gather(const __half *in, const int *index, float4 *out, int n) {
    __half packed[8]; //~ vector_reinterpret
    for (int k = 0; k < n; ++k) packed[k & 7] = in[index[k]];
    out[threadIdx.x] = *reinterpret_cast<float4 *>(packed);
}

// Vectors, walked as the numbers that they are made of.
__global__ void components(const float4 *in, const int *at, float *out, int n) {
    float4 row[4]; //~ vector_reinterpret
    for (int k = 0; k < 4; ++k) row[k] = in[threadIdx.x * 4 + k];
    const float *element = reinterpret_cast<const float *>(row);
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += element[at[k] & 15];
    out[threadIdx.x] = sum;
}

// The cast costs nothing where all indices are constants.
__global__ void pack(const float *in, float4 *out) {
    __half2 pair[4];
    for (int k = 0; k < 4; ++k) pair[k] = __floats2half2_rn(in[8 * threadIdx.x + 2 * k], in[8 * threadIdx.x + 2 * k + 1]);
    out[threadIdx.x] = *reinterpret_cast<float4 *>(pair);
}

// Loaded as vectors of the same numbers: the index alone is the cause.
__global__ void lookup(const float *in, const int *at, float *out, int n) {
    float value[16]; //~ dynamic_index
    for (int k = 0; k < 4; ++k)
        *reinterpret_cast<float4 *>(&value[4 * k]) = *reinterpret_cast<const float4 *>(in + 4 * k);
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += value[at[k] & 15];
    out[threadIdx.x] = sum;
}

// The cast is of other memory.
__global__ void lookup_global(const __half *in, const int *at, float *out, int n) {
    float value[16]; //~ dynamic_index
    for (int k = 0; k < 4; ++k) {
        float2 four = reinterpret_cast<const float2 *>(in)[k * 32 + threadIdx.x];
        const __half2 *pair = reinterpret_cast<const __half2 *>(&four);
        float2 low = __half22float2(pair[0]), high = __half22float2(pair[1]);
        value[4 * k] = low.x, value[4 * k + 1] = low.y, value[4 * k + 2] = high.x, value[4 * k + 3] = high.y;
    }
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += value[at[k] & 15];
    out[threadIdx.x] = sum;
}
