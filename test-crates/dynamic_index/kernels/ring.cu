// Ring buffers and tables that a thread keeps for itself.

struct Ring {
    float slot[8];
    int head;
};

// The head is the same in all threads.
extern "C" __global__ void ring_uniform(const float *in, float *out, int n, int start) {
    Ring ring; //~ dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ring.head = start & 7;
#pragma unroll
    for (int k = 0; k < 8; ++k) ring.slot[k] = 0.0f;
    float sum = 0.0f;
    for (int step = 0; step < n; ++step) {
        float sample = in[step * 256 + i];
        sum += sample - ring.slot[ring.head];
        ring.slot[ring.head] = sample;
        ring.head = (ring.head + 1) & 7;
        out[step * 256 + i] = sum * 0.125f;
    }
}

// The same window, shifted: every index is a constant.
extern "C" __global__ void ring_shifted(const float *in, float *out, int n) {
    float slot[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 8; ++k) slot[k] = 0.0f;
    float sum = 0.0f;
    for (int step = 0; step < n; ++step) {
        float sample = in[step * 256 + i];
        sum += sample - slot[0];
#pragma unroll
        for (int k = 0; k < 7; ++k) slot[k] = slot[k + 1];
        slot[7] = sample;
        out[step * 256 + i] = sum * 0.125f;
    }
}

// Two dimensions; the row comes from the thread's index, the column from a loop that is unrolled.
extern "C" __global__ void transpose_rows(const float *in, float *out, int n) {
    float tile[8][4]; //~ dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c) tile[r][c] = in[(r * 4 + c) * n + i];
    for (int round = 0; round < n; ++round) {
#pragma unroll
        for (int c = 0; c < 4; ++c) tile[(threadIdx.x + round) & 7][c] += tile[threadIdx.x & 7][c ^ 1];
    }
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c) out[(r * 4 + c) * n + i] = tile[r][c];
}

// Each thread walks a tree with a stack of its own.
extern "C" __global__ void traverse(const int2 *children, const float *weight, float *out, int root) {
    int stack[32]; //~ dynamic_index
    int depth = 0;
    float sum = 0.0f;
    stack[depth++] = root + threadIdx.x;
    while (depth > 0) {
        int node = stack[--depth];
        sum += weight[node];
        int2 next = children[node];
        if (next.x >= 0) stack[depth++] = next.x;
        if (next.y >= 0) stack[depth++] = next.y;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
