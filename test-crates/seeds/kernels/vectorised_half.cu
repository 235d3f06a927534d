// Eight halves in one 16-byte load: what happens to them depends on who gets their address.
#include <cuda_fp16.h>

#define AS_FLOAT4(value) (*reinterpret_cast<float4 *>(&(value)))

__device__ __noinline__ void double_in_place(float4 *packed) {
    half2 *pairs = reinterpret_cast<half2 *>(packed);
#pragma unroll
    for (int k = 0; k < 4; ++k) pairs[k] = __hadd2(pairs[k], pairs[k]);
}

__device__ __noinline__ float4 doubled(float4 packed) {
    union {
        float4 whole;
        half2 pairs[4];
    } both;
    both.whole = packed;
#pragma unroll
    for (int k = 0; k < 4; ++k) both.pairs[k] = __hadd2(both.pairs[k], both.pairs[k]);
    return both.whole;
}

// A reinterpreted array alone costs nothing: the compiler sees through it.
__global__ void copy_eight_native(half *in, half *out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i >= n) return;
    half2 pack[4];
    AS_FLOAT4(pack[0]) = AS_FLOAT4(in[i]);
    AS_FLOAT4(out[i]) = AS_FLOAT4(pack[0]);
}

// The pointer leaves the kernel, and takes the array to local memory.
__global__ void double_eight_by_pointer(half *in, half *out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i >= n) return;
    half2 pack[4]; //~ address_escape
    AS_FLOAT4(pack[0]) = AS_FLOAT4(in[i]);
    double_in_place(reinterpret_cast<float4 *>(&pack[0]));
    AS_FLOAT4(out[i]) = AS_FLOAT4(pack[0]);
}

// A value goes in and comes back in registers.
__global__ void double_eight_by_value(half *in, half *out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i >= n) return;
    float4 pack = AS_FLOAT4(in[i]);
    pack = doubled(pack);
    AS_FLOAT4(out[i]) = pack;
}
