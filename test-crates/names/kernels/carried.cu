#include <cuda/std/span>

// What a loop leaves to the next round of the loop around it differs, if threads left it in different rounds.
__global__ void __launch_bounds__(128) victims(const int *in, int *out, int n) {
    bool used[32] = {}; //~ dynamic_index
    int hand = 0, sum = 0;
    auto victim = [&] {
        for (int tries = 0; tries < 40 && used[hand]; ++tries) {
            used[hand] = false;
            hand = (hand + 1) & 31;
        }
        return hand;
    };
    for (int k = 0; k < n; ++k) {
        const int x = in[threadIdx.x * n + k];
        used[k * 7 & 31] = true;
        used[victim()] = x & 2048;
        sum = sum * 3 + hand;
    }
    for (int k = 0; k < 32; ++k) sum = sum * 3 + used[k];
    out[threadIdx.x] = sum;
}

// A sum of a warp is the same in all its threads, which is not known of what they exchange; the rank of a warp is.
__global__ void __launch_bounds__(256) sums(const int *in, int *out, int n) {
    int bins[64] = {}, rows[60] = {}; //~ dynamic_index //~ dynamic_index
    const int warp = (threadIdx.y * blockDim.x + threadIdx.x) / 32;
    for (int k = 0; k < n; ++k) {
        int sum = in[k * 256 + threadIdx.x];
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        bins[sum & 63] += k;
        rows[(warp + k * k) % 60] += k;
    }
    int all = 0;
    for (int k = 0; k < 60; ++k) all = all * 3 + bins[k] + rows[k];
    out[threadIdx.x] = all;
}

// Equal arrays in one statement: the frame has them in the order of their declarations, the last one padded.
__global__ void board(const int *in, int *out, int n) {
    bool up[15] = {}, down[15] = {}; //~ dynamic_index //~ dynamic_index
    int at[8] = {}, row = 0; //~ dynamic_index
    for (int k = 0; k < n; ++k) {
        const int c = in[k * 32 + threadIdx.x] & 7;
        if (!(up[row + c] || down[row - c + 7])) { up[row + c] = down[row - c + 7] = true; at[row & 7] += c; }
        row = at[c] & 7;
    }
    int sum = 0;
    for (int k = 0; k < 15; ++k) sum = sum * 3 + up[k] + down[k];
    out[threadIdx.x] = sum;
}

// A view that is made in place at a call.
__device__ int first_not_below(cuda::std::span<const float> sorted, float value) {
    int low = 0, high = sorted.size();
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
}
__global__ void buckets(const float *in, const float *edges, int *out) {
    float edge[24]; //~ dynamic_index
    for (int k = 0; k < 24; ++k) edge[k] = edges[k];
    out[threadIdx.x] = first_not_below(edge, in[threadIdx.x]);
}

// Loops that the text does not show at the access: a macro has them.
#define EACH(k, m) for (int k = 0; k < (m); ++k)
__global__ void unseen(const float *in, float *out, int m) {
    float w[12], s = 0; //~ rolled_loop
    EACH(k, m) w[k] = in[threadIdx.x * m + k];
    EACH(r, m) EACH(k, m) { s = s * 0.5f + w[k]; w[k] = s; }
    out[threadIdx.x] = s;
}
