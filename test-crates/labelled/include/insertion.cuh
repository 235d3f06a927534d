// Keeps the K best of a stream, best first.
#pragma once

template <int K>
__device__ __forceinline__ void insert_sorted(float (&score)[K], int (&id)[K], float candidate, int candidate_id)
{
    if (candidate <= score[K - 1])
        return;
    int slot = K - 1;
    while (slot > 0 && score[slot - 1] < candidate) {
        score[slot] = score[slot - 1];
        id[slot] = id[slot - 1];
        --slot;
    }
    score[slot] = candidate; //@ access score in top_eight
    id[slot] = candidate_id; //@ access id in top_eight
}

// The same without moving anything whose place is not known: every comparison is done.
template <int K>
__device__ __forceinline__ void insert_by_exchange(float (&score)[K], int (&id)[K], float candidate, int candidate_id)
{
#pragma unroll
    for (int slot = 0; slot < K; ++slot) {
        const bool better = candidate > score[slot];
        const float old_score = score[slot];
        const int old_id = id[slot];
        score[slot] = better ? candidate : old_score;
        id[slot] = better ? candidate_id : old_id;
        candidate = better ? old_score : candidate;
        candidate_id = better ? old_id : candidate_id;
    }
}
