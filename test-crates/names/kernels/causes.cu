// Lists, countdowns, and loops that are not the user's.
#include <cuda/std/algorithm>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void library(const int *in, const int *order, int *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int keys[20]; //~ dynamic_index
        for (int k = 0; k < 20; ++k) keys[k] = in[k * n + i];
        cuda::std::partial_sort(keys, keys + order[i], keys + 20);
        out[i] = keys[3];
    }
}
__global__ void append(const float *in, float *out, int n, float limit) {
    int list[64]; //~ dynamic_index
    int count = 0, k = 0;
    while (k < n && count < 64) {
        if (in[k] > limit) list[count++] = k;
        ++k;
    }
    float sum = 0;
    for (int j = 0; j < count; ++j) sum += in[list[j]];
    out[threadIdx.x] = sum;
}
__global__ void stack_walk(const int *left, const int *right, const float *value, float *out) {
    int todo[32]; //~ dynamic_index
    int top = 0;
    todo[top++] = threadIdx.x;
    float sum = 0;
    while (top > 0) {
        int node = todo[--top];
        sum += value[node];
        if (left[node] >= 0) todo[top++] = left[node];
        if (right[node] >= 0) todo[top++] = right[node];
    }
    out[threadIdx.x] = sum;
}
__global__ void collect(const int *in, int *out, int n) {
    int found[24]; //~ dynamic_index
    int count = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        if (in[k] > 0 && count < 24) found[count++] = in[k];
    }
    for (int j = 0; j < count; ++j) out[j * blockDim.x + threadIdx.x] = found[j];
}
__global__ void countdown_while(const float *in, float *out, int n) {
    float buffer[32]; //~ rolled_loop
    for (int k = 0; k < 32; ++k) buffer[k] = in[k * n + threadIdx.x];
    int k = n;
    float sum = 0;
    while (k > 0) { --k; sum = sum * 0.5f + buffer[k]; }
    out[threadIdx.x] = sum;
}
__global__ void countdown_for(const float *in, float *out, int n) {
    float buffer[32]; //~ rolled_loop
    for (int k = 0; k < 32; ++k) buffer[k] = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = n - 1; k >= 0; --k) sum = sum * 0.5f + buffer[k];
    out[threadIdx.x] = sum;
}
__global__ void countdown_post(const float *in, float *out, int n) {
    float buffer[32]; //~ rolled_loop
    for (int k = 0; k < 32; ++k) buffer[k] = in[k * n + threadIdx.x];
    float sum = 0;
    int k = n;
    while (k-- > 0) sum = sum * 0.5f + buffer[k];
    out[threadIdx.x] = sum;
}
__global__ void countdown_mod(const float *in, float *out, int n) {
    float buffer[32]; //~ rolled_loop
    for (int k = 0; k < 32; ++k) buffer[k] = in[k * n + threadIdx.x];
    float sum = 0;
    int k = n;
    while (k) { sum = sum * 0.5f + buffer[--k]; }
    out[threadIdx.x] = sum;
}
__global__ void groups(const float *in, float *out, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    float lane[16]; //~ dynamic_index
    for (int k = 0; k < 16; ++k) lane[k] = in[k * n + tile.thread_rank()];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += tile.shfl(lane[(k + tile.thread_rank()) % 16], 0);
    out[tile.thread_rank()] = sum;
}
__global__ void pushed(const int *in, int *out, int n) {
    int kept[28]; //~ dynamic_index
    int top = 0;
    for (int k = 0; k < n; ++k) {
        const int value = in[k * blockDim.x + threadIdx.x];
        if (value <= 0 || top >= 28) continue;
        kept[top] = value;
        ++top;
    }
    while (top) out[threadIdx.x] += kept[--top];
}
