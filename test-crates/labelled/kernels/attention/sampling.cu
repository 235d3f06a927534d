// Picks tokens.
#include "../../include/insertion.cuh"

// The best eight of a slice of the vocabulary, by shifting.
__global__ void top_eight(const float* __restrict__ logits, float* __restrict__ best, int* __restrict__ token, int vocabulary)
{
    float score[8]; //@ object score: dynamic_index
    int id[8];      //@ object id: dynamic_index
    for (int slot = 0; slot < 8; ++slot) { score[slot] = -1e30f; id[slot] = -1; }

    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int t = thread; t < vocabulary; t += threads)
        insert_sorted(score, id, logits[t], t);

    for (int slot = 0; slot < 8; ++slot) {
        best[slot * threads + thread] = score[slot];
        token[slot * threads + thread] = id[slot];
    }
}

// The same by exchanging: nothing is indexed at run time.
__global__ void top_eight_exchanged(const float* __restrict__ logits, float* __restrict__ best, int* __restrict__ token, int vocabulary) //@ clean
{
    float score[8];
    int id[8];
    for (int slot = 0; slot < 8; ++slot) { score[slot] = -1e30f; id[slot] = -1; }

    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int t = thread; t < vocabulary; t += threads)
        insert_by_exchange(score, id, logits[t], t);

    for (int slot = 0; slot < 8; ++slot) {
        best[slot * threads + thread] = score[slot];
        token[slot * threads + thread] = id[slot];
    }
}

struct Beam {
    float log_probability;
    int   last;
    int   length;
};

// A heap of the beams that are alive; children are compared, parents move down.
__global__ void prune_beams(const float* __restrict__ scores, Beam* __restrict__ survivors, int candidates, int keep)
{
    Beam heap[16]; //@ object heap: dynamic_index | rolled_loop
    const int sequence = blockIdx.x * blockDim.x + threadIdx.x;
    const float* mine = scores + sequence * candidates;
    int size = 0;
    for (int c = 0; c < candidates; ++c) {
        const float p = mine[c];
        int hole;
        if (size < keep) {
            hole = size++;
            while (hole > 0 && heap[(hole - 1) / 2].log_probability > p) { //@ access heap
                heap[hole] = heap[(hole - 1) / 2]; //@ access heap
                hole = (hole - 1) / 2;
            }
        } else if (p > heap[0].log_probability) {
            hole = 0;
            for (int child = 1; child < size; child = 2 * hole + 1) {
                if (child + 1 < size && heap[child + 1].log_probability < heap[child].log_probability) ++child; //@ access heap
                if (heap[child].log_probability >= p) break; //@ access heap
                heap[hole] = heap[child]; //@ access heap
                hole = child;
            }
        } else {
            continue;
        }
        heap[hole] = Beam{p, c, heap[hole].length + 1}; //@ access heap
    }
    for (int b = 0; b < size; ++b) survivors[sequence * keep + b] = heap[b]; //@ access heap
}

// Inverse transform sampling in a cumulative sum of 12; the search is a loop with a way out.
__global__ void sample_mixture(const float* __restrict__ weights, const float* __restrict__ uniform, int* __restrict__ component, int n)
{
    float cumulative[12]; //@ object cumulative: rolled_loop
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f;
    for (int c = 0; c < 12; ++c) cumulative[c] = (total += weights[c * n + i]);
    const float target = uniform[i] * total;
    int picked = 11;
#pragma unroll 1
    for (int c = 0; c < 12; ++c)
        if (target < cumulative[c]) { picked = c; break; } //@ access cumulative
    component[i] = picked;
}
