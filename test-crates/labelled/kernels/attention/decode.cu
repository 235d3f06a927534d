// Decoding of one token: a thread, or a few, for each head.
#include <cuda_fp16.h>
#include "../../include/array.cuh"

namespace {

constexpr float NegativeInfinity = -1e30f;

template <int MaxContext>
__global__ void softmax_row(const float *__restrict__ logits, float *__restrict__ probabilities, int context, int rows)
{
    float row[MaxContext]; //@ object row: rolled_loop
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float peak = NegativeInfinity;
    for (int t = 0; t < context; ++t) {
        row[t] = logits[t * rows + r]; //@ access row
        peak = fmaxf(peak, row[t]); //@ access row
    }
    float norm = 0.f;
    for (int t = 0; t < context; ++t) {
        row[t] = __expf(row[t] - peak); //@ access row
        norm += row[t]; //@ access row
    }
    const float scale = 1.f / norm;
    for (int t = 0; t < context; ++t) probabilities[t * rows + r] = row[t] * scale; //@ access row
}

template __global__ void softmax_row<32>(const float *, float *, int, int);
template __global__ void softmax_row<48>(const float *, float *, int, int);

} // namespace

struct OnlineState {
    float maximum;
    float norm;
    float accumulator[16];
};

__device__ __forceinline__ void absorb(OnlineState &state, float logit, const float *value)
{
    const float maximum = fmaxf(state.maximum, logit);
    const float correction = __expf(state.maximum - maximum);
    const float weight = __expf(logit - maximum);
    state.norm = state.norm * correction + weight;
#pragma unroll
    for (int d = 0; d < 16; ++d) state.accumulator[d] = state.accumulator[d] * correction + weight * value[d];
    state.maximum = maximum;
}

// Online softmax: a structure with an array that is only used in unrolled loops.
extern "C" __global__ void attend_online(const float *__restrict__ q, const float *__restrict__ k, //@ clean
                                         const float *__restrict__ v, float *__restrict__ out, int context)
{
    const int head = blockIdx.x * blockDim.x + threadIdx.x;
    OnlineState state = {NegativeInfinity, 0.f, {}};
    for (int t = 0; t < context; ++t) {
        float logit = 0.f;
#pragma unroll
        for (int d = 0; d < 16; ++d) logit += q[head * 16 + d] * k[t * 16 + d];
        absorb(state, logit, v + t * 16);
    }
#pragma unroll
    for (int d = 0; d < 16; ++d) out[head * 16 + d] = state.accumulator[d] / state.norm;
}

// The size of a head is a parameter, so nothing is unrolled.
extern "C" __global__ void attend_any_head(const __half *__restrict__ q, const __half *__restrict__ k,
                                           const __half *__restrict__ v, __half *__restrict__ out, int context, int head_size)
{
    const int head = blockIdx.x * blockDim.x + threadIdx.x;
    float query[64]; //@ object query: rolled_loop
    float accumulator[64]; //@ object accumulator: rolled_loop
#pragma unroll 1
    for (int d = 0; d < head_size; ++d) {
        query[d] = __half2float(q[head * head_size + d]); //@ access query
        accumulator[d] = 0.f; //@ access accumulator
    }
    float norm = 0.f, peak = NegativeInfinity;
    for (int t = 0; t < context; ++t) {
        float logit = 0.f;
        for (int d = 0; d < head_size; ++d) logit += query[d] * __half2float(k[t * head_size + d]); //@ access query
        const float next_peak = fmaxf(peak, logit);
        const float correction = __expf(peak - next_peak), weight = __expf(logit - next_peak);
        norm = norm * correction + weight;
        for (int d = 0; d < head_size; ++d)
            accumulator[d] = accumulator[d] * correction + weight * __half2float(v[t * head_size + d]); //@ access accumulator
        peak = next_peak;
    }
    for (int d = 0; d < head_size; ++d)
        out[head * head_size + d] = __float2half(accumulator[d] / norm); //@ access accumulator
}

// Experts of a mixture: which ones is known when the gate has spoken.
extern "C" __global__ void route_experts(const float *__restrict__ gate, const int *__restrict__ choice, float *__restrict__ load,
                                         int tokens)
{
    Array<float, 16> share; //@ object share|share.items|items: dynamic_index
    share.fill(0.f);
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = gridDim.x * blockDim.x;
    for (int token = lane; token < tokens; token += stride) {
        share[choice[2 * token]] += gate[2 * token]; //@ access share
        share[choice[2 * token + 1]] += gate[2 * token + 1]; //@ access share
    }
#pragma unroll
    for (int e = 0; e < 16; ++e) load[e * stride + lane] = share[e];
}

// Rotary embedding with half2 lanes picked by parity: two lanes are a select.
extern "C" __global__ void rotate_pairs(const float2 *__restrict__ in, float *__restrict__ out, const float *angle, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float pair[2] = {in[i].x, in[i].y};
    const float c = __cosf(angle[i]), s = __sinf(angle[i]);
    const float turned[2] = {pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c};
    out[i] = turned[threadIdx.x & 1];
}
