// Tables in constant memory as indices and as bounds, and buffers that take turns.

static __constant__ int permutation[16] = {10, 7, 11, 1, 14, 3, 5, 0, 8, 12, 4, 15, 2, 13, 9, 6};
static __constant__ int rotation[16] = {1, 3, 6, 10, 15, 21, 28, 4, 13, 23, 2, 14, 27, 9, 24, 8};

// Nothing writes the tables.
extern "C" __global__ void rotated(const unsigned *in, unsigned *out, int rounds) {
    unsigned state[16]; //~ dynamic_index
    for (int i = 0; i < 16; ++i) state[i] = in[i * 256 + threadIdx.x];
    for (int r = 0; r < rounds; ++r) {
        unsigned last = state[1];
        for (int i = 0; i < 16; ++i) {
            const int at = permutation[i];
            const unsigned next = state[at];
            state[at] = __funnelshift_l(last, last, rotation[i]);
            last = next ^ state[i];
        }
    }
    for (int i = 0; i < 16; ++i) out[i * 256 + threadIdx.x] = state[i];
}

// The host writes this one.
__constant__ int order[16] = {10, 7, 11, 1, 14, 3, 5, 0, 8, 12, 4, 15, 2, 13, 9, 6};

void reorder(const int *values) { cudaMemcpyToSymbol(order, values, sizeof(order)); }

extern "C" __global__ void reordered(const unsigned *in, unsigned *out, int rounds) {
    unsigned state[16]; //~ dynamic_index
    for (int i = 0; i < 16; ++i) state[i] = in[i * 256 + threadIdx.x];
    for (int r = 0; r < rounds; ++r) {
        unsigned last = state[1];
        for (int i = 0; i < 16; ++i) {
            const unsigned next = state[order[i]];
            state[order[i]] = last << 5 | last >> 27;
            last = next ^ state[i];
        }
    }
    for (int i = 0; i < 16; ++i) out[i * 256 + threadIdx.x] = state[i];
}

// The number of stages lies in constant memory, which no thread writes.
struct Plan {
    int stages;
    float factor[7][7];
};
__constant__ Plan plans[2] = {{4, {{0}, {0.5f}, {0, 0.5f}, {0, 0, 1}}}, {7, {{0}, {0.2f}, {0.1f, 0.3f}}}};

extern "C" __global__ void staged(const float *in, float *out, int kind, int steps) {
    const Plan &plan = plans[kind];
    float x = in[threadIdx.x];
    float stage[7]; //~ rolled_loop
    for (int step = 0; step < steps; ++step) {
        for (int s = 0; s < plan.stages; ++s) {
            float sum = x;
            for (int j = 0; j < s; ++j) sum += plan.factor[s][j] * stage[j];
            stage[s] = __cosf(sum);
        }
        for (int s = 0; s < plan.stages; ++s) x = __fadd_rn(x, stage[s]);
    }
    out[threadIdx.x] = x;
}

// The buffers are exchanged after each line, which writes all of one of them.
extern "C" __global__ void lines(const unsigned char *cost, unsigned short *out, int count, int width, int step, int jump) {
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= count) return;
    unsigned short first[16], second[16]; //~ dynamic_index //~ dynamic_index
    unsigned short *last = first, *next = second;
    #pragma unroll
    for (int d = 0; d < 16; ++d) last[d] = 0;
    int low = 0;
    for (int x = 0; x < width; ++x) {
        int least = 0xffff;
        #pragma unroll
        for (int d = 0; d < 16; ++d) {
            int best = last[d];
            if (d > 0) best = min(best, last[d - 1] + step);
            if (d + 1 < 16) best = min(best, last[d + 1] + step);
            best = min(best, low + jump);
            next[d] = (unsigned short)(cost[((size_t)x * 16 + d) * 4096 + (line & 4095)] + (line >> 12 & 7) + best - low);
            least = min(least, (int)next[d]);
        }
        unsigned short *other = last;
        last = next;
        next = other;
        low = least;
    }
    #pragma unroll
    for (int d = 0; d < 16; ++d) out[(size_t)d * count + line] = last[d];
}
