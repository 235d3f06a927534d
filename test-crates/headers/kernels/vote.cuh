#pragma once

// A kernel that both `.cu` files compile: one finding.
template <int Classes>
__global__ void vote(const int *label, int *out, int n) {
    int votes[Classes]; //~ dynamic_index
#pragma unroll
    for (int c = 0; c < Classes; ++c) votes[c] = 0;
    for (int k = 0; k < n; ++k) votes[label[k * 32 + threadIdx.x] % Classes]++;
#pragma unroll
    for (int c = 0; c < Classes; ++c) out[c * 32 + threadIdx.x] = votes[c];
}

// The same with constant indices alone.
template <int Classes>
__global__ void vote_compared(const int *label, int *out, int n) {
    int votes[Classes];
#pragma unroll
    for (int c = 0; c < Classes; ++c) votes[c] = 0;
    for (int k = 0; k < n; ++k) {
        int mine = label[k * 32 + threadIdx.x] % Classes;
#pragma unroll
        for (int c = 0; c < Classes; ++c) votes[c] += c == mine ? 1 : 0;
    }
#pragma unroll
    for (int c = 0; c < Classes; ++c) out[c * 32 + threadIdx.x] = votes[c];
}
