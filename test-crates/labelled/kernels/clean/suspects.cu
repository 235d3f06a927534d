// Shapes that people suspect, in kernels whose frame is empty (of one, on some generations).
#include <cassert>
#include <cstdint>
#include "../../include/array.cuh"

// One read at a run-time index of something small; one generation of three keeps it in memory.
__global__ void pick_channel(const float4 *pixels, const int *channel, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 p = pixels[i];
    const float lanes[4] = {p.x, p.y, p.z, p.w}; //@ object lanes: dynamic_index
    out[i] = lanes[channel[i] & 3]; //@ access lanes
}

// A break out of an unrolled loop.
__global__ void first_crossing(const float *samples, int *crossing, float threshold, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float window[10];
#pragma unroll
    for (int k = 0; k < 10; ++k) window[k] = samples[k * n + i];
    int at = -1;
#pragma unroll
    for (int k = 1; k < 10; ++k) {
        if (window[k - 1] < threshold && window[k] >= threshold) {
            at = k;
            break;
        }
    }
    crossing[i] = at;
}

// A tile in shared memory, indexed by data.
__global__ void bin_shared(const uint8_t *values, int *histogram, int n) //@ clean
{
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[values[i]], 1);
    __syncthreads();
    atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
}

// A column of shared memory for each thread, as a stack.
template <int Block>
__global__ void flood_shared(const int *links, int *reached, int n) //@ clean
{
    __shared__ int stack[16][Block];
    const int i = blockIdx.x * Block + threadIdx.x;
    if (i >= n) return;
    int top = 0, count = 0;
    stack[top++][threadIdx.x] = i;
    while (top > 0 && count < 1000) {
        const int node = stack[--top][threadIdx.x];
        ++count;
        for (int e = 0; e < 2 && top < 16; ++e)
            if (links[2 * node + e] >= 0) stack[top++][threadIdx.x] = links[2 * node + e];
    }
    reached[i] = count;
}
template __global__ void flood_shared<128>(const int *, int *, int);

// Values of other lanes instead of an array.
__global__ void warp_transpose(const int *in, int *out, int pick) //@ clean
{
    int row[4];
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < 4; ++k) row[k] = in[(blockIdx.x * 4 + k) * 32 + lane];
#pragma unroll
    for (int k = 0; k < 4; ++k) row[k] = __shfl_sync(~0u, row[k], (lane + pick * k) & 31);
    out[blockIdx.x * 32 + lane] = row[0] + 3 * row[1] + 5 * row[2] + 7 * row[3];
}

// Pointers to arrays that are inlined away.
__device__ __forceinline__ void butterfly(float *a, float *b)
{
    const float sum = *a + *b;
    *b = *a - *b;
    *a = sum;
}

__global__ void hadamard_eight(const float *in, float *out, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[8];
    for (int k = 0; k < 8; ++k) v[k] = in[k * n + i];
    for (int half = 1; half < 8; half *= 2)
        for (int k = 0; k < 8; ++k)
            if (!(k & half)) butterfly(v + k, v + (k | half));
    for (int k = 0; k < 8; ++k) out[k * n + i] = v[k];
}

// Checks without arguments to keep.
__global__ void checked_divide(const double *a, const double *b, double *q, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n);
    assert(b[i] != 0.0);
    q[i] = a[i] / b[i];
}

// A wrapper with iterators, walked by `for`.
__global__ void wrapped_norm(const float *in, float *out, int n) //@ clean
{
    Array<float, 6> v;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    v.fill(0.5f);
    for (int k = 0; k < 6; ++k) v[k] *= in[k * n + i];
    float sum = 0.0f;
    for (const float &item : v.items) sum += item * item;
    out[i] = sqrtf(sum);
}

// A table of the whole file in the constant bank.
static constexpr __device__ short gray_weights[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3,
                                                      2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5};

__global__ void weigh_levels(const uint8_t *level, float *weight, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weight[i] = gray_weights[level[i] >> 3] * 0.125f;
}

// A guard in place of a run-time bound.
__global__ void guarded_mean(const float *in, float *out, int used, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value[12];
    float mean = 0.0f;
#pragma unroll
    for (int k = 0; k < 12; ++k) {
        value[k] = k < used ? in[k * n + i] : 0.0f;
        mean += value[k];
    }
    mean /= used;
    float spread = 0.0f;
#pragma unroll
    for (int k = 0; k < 12; ++k)
        if (k < used) spread += (value[k] - mean) * (value[k] - mean);
    out[i] = spread / used;
}

// Bits of a float through a union and through a cast.
union Bits {
    float value;
    unsigned bits;
};

__global__ void split_exponents(const float *in, int *exponent, float *mantissa, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bits both;
    both.value = in[i];
    exponent[i] = (int)(both.bits >> 23 & 255) - 127;
    both.bits = (both.bits & 0x7fffffu) | 0x3f800000u;
    mantissa[i] = both.value;
    float copy = in[i];
    if (*reinterpret_cast<int *>(&copy) < 0) mantissa[i] = -mantissa[i];
}

// Predicates instead of an index.
__global__ void four_counters(const uint8_t *in, int4 *out, int n) //@ clean
{
    int count[4] = {0, 0, 0, 0};
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) {
        const int c = in[i] & 3;
#pragma unroll
        for (int k = 0; k < 4; ++k) count[k] += c == k;
    }
    out[first] = make_int4(count[0], count[1], count[2], count[3]);
}
