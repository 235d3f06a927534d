// right: 1
// wrong: 51 52 53 54
// Collectives whose operands come from an array: a vote on a rare value, the lane that is asked, who takes part.
extern "C" __global__ void votes(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int seen[4] = {};
    int score = 0;
    for (int k = 0; k < n; ++k) {
        const int value = in[k * blockDim.x + threadIdx.x];
#if V == 0
        seen[value & 3] += value;
        const int picked = seen[k & 3];
#else
#pragma unroll
        for (int j = 0; j < 4; ++j) if (j == (value & 3)) seen[j] += value;
        int picked = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) if (j == (k & 3)) picked = seen[j];
#endif
#if V == 51
        const unsigned votes = __ballot_sync(__activemask(), picked >= 77);
#else
        const unsigned votes = __ballot_sync(__activemask(), picked > 77);
#endif
#if V == 52
        const int asked = __shfl_sync(__activemask(), picked, value > 5000 ? 1 : 0);
#else
        const int asked = __shfl_sync(__activemask(), picked, 0);
#endif
#if V == 53
        if (__any_sync(__activemask(), value == 300)) score ^= asked;
#else
        if (__all_sync(__activemask(), value != 300)) score ^= asked; else score -= asked;
#endif
#if V == 54
        score += __popc(votes & (2u << lane) - 1);
#else
        score += __popc(votes & (1u << lane) - 1);
#endif
    }
    out[i] = score;
}
