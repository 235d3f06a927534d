// Statements that use one array twice, or several arrays: which use is the access, and which variable.

struct Particle {
    float x, v;
};

#define MIX(to, from) do { to += words[order[r & 31] & 31]; from ^= to; } while (0)

// The macro indexes `words`; its arguments are elements at numbers.
__global__ void macro_indexes(const int *__restrict__ in, const int *__restrict__ order, int *__restrict__ out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int words[32], state[32]; //~ dynamic_index
#pragma unroll
    for (int i = 0; i < 32; ++i) words[i] = in[i * 4096 + t];
#pragma unroll
    for (int i = 0; i < 32; ++i) state[i] = in[i * 4096 + t + 7];
    for (int r = 0; r < n; ++r) {
        MIX(state[0], state[1]);
        MIX(state[2], state[3]);
        MIX(state[4], state[0]);
    }
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) sum = sum * 31 + state[i];
    out[t] = sum;
}

// `own` differs from thread to thread, `same` does not.
__global__ void two_subscripts(const int *__restrict__ in, int n, int m, float *__restrict__ out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float weight[24]; //~ dynamic_index
    for (int k = 0; k < 24; ++k) weight[k] = in[k * 64 + t];
    for (int i = 0; i < n; ++i) {
        const int own = in[i * 4096 + t] % 24u, same = (m + i) % 24u;
        weight[own] += weight[same];
    }
    float sum = 0;
    for (int k = 0; k < 24; ++k) sum = sum * 0.5f + weight[k];
    out[t] = sum;
}

// Only one branch of `if constexpr` is compiled.
template <bool Sorted>
__device__ float swarm(const int *in, int n, int t) {
    Particle cloud[12]; //~ dynamic_index
    for (auto &one : cloud) one.x = in[t], one.v = 1.0f;
    for (int i = 0; i < n; ++i) {
        if constexpr (Sorted) { Particle &one = cloud[in[i * 4096 + t] % 12u]; one.x += one.v; one.v *= 0.5f; }
        else cloud[i % 12].x += i;
    }
    float sum = 0;
    for (const auto &one : cloud) sum = sum * 0.5f + one.x * one.v;
    return sum;
}

__global__ void discarded_branch(const int *__restrict__ in, int n, float *__restrict__ out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = swarm<true>(in, n, t);
}

// Two instances of a template share the bytes of the larger array.
template <int N>
__device__ float histogram(const int *in, int n) {
    float bins[N]; //~ dynamic_index
    for (int i = 0; i < N; i++) bins[i] = in[i];
    for (int i = 0; i < n; i++) bins[in[i * 32] % N] += i;
    float sum = 0;
    for (int i = 0; i < N; i++) sum = sum * 0.5f + bins[i];
    return sum;
}

__global__ void two_instances(const int *in, const int *more, int n, float *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = histogram<20>(in + t, n) + histogram<40>(more + t, n);
}

// The list goes on in each round of the outer loop: its length is data, not a trip count.
__global__ void appends(const unsigned *masks, int rows, int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int starts[16], count = 0; //~ dynamic_index
    for (int row = 0; row < rows; ++row) {
        unsigned bits = masks[row * 4096 + t];
        while (bits && count < 16) {
            starts[count++] = row * 32 + __ffs(bits) - 1;
            bits &= bits - 1;
        }
    }
    int sum = 0;
    for (int i = 0; i < count; ++i) sum = sum * 31 + starts[i];
    out[t] = sum;
}

// The operator finds the piece; what it is given is no index.
struct Cubic {
    float c[4];
};

struct Pieces {
    Cubic table[4];
    __device__ float operator()(float x) const {
        const int piece = min(max(int(x), 0), 3);
        const float at = x - piece;
        return (table[piece].c[3] * at + table[piece].c[2]) * at + table[piece].c[1];
    }
};

template <class F>
__device__ float quadrature(const F &f, float from, int n) {
    float sum = 0.0f;
    for (int i = 1; i < n; ++i) sum += f(from + i * 0.07f);
    return sum;
}

__global__ void piecewise(const float *start, float scale, int n, float *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const Pieces pieces = {{{{0, scale, 0.5f, -0.1f}}, //~ dynamic_index
                            {{1.4f, 0.3f, -scale, 0.05f}},
                            {{1.5f, -0.1f, scale, 0.2f}},
                            {{scale, 0.7f, 0.1f, 0.01f}}}};
    out[t] = quadrature(pieces, start[t], n);
}

// A warp has one region: 64 threads of a block in a row do.
__global__ void region_of_warp(const short *__restrict__ regions, const float *__restrict__ in, float *__restrict__ out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int from = regions[2 * (t >> 8)], to = regions[2 * (t >> 8) + 1];
    float best[24]; //~ dynamic_index
#pragma unroll
    for (int i = 0; i < 24; ++i) best[i] = -1e30f;
    for (int x = from; x < to; ++x) {
        int bin = (x - from) * 24 / (to - from);
        float value = in[x * 256 + (t & 255)];
        if (value > best[bin]) best[bin] = value;
    }
#pragma unroll
    for (int i = 0; i < 24; ++i) out[i * 1048576 + t] = best[i];
}

struct Leaf {
    Leaf *low, *high;
    float key;
    int is_last;
};

__device__ float nearest(Leaf *root, float wanted) {
    Leaf *open[64]; //~ dynamic_index
    Leaf **top = open;
    *top++ = nullptr;
    Leaf *at = root;
    float best = 1e30f;
    do {
        Leaf *low = at->low, *high = at->high;
        bool is_low = wanted < low->key, is_high = wanted > high->key;
        if (is_low && low->is_last) best = fminf(best, low->key - wanted);
        if (is_high && high->is_last) best = fminf(best, wanted - high->key);
        bool goes_low = is_low && !low->is_last, goes_high = is_high && !high->is_last;
        if (goes_low || goes_high) {
            at = goes_low ? low : high;
            if (goes_low && goes_high) *top++ = high;
        } else {
            at = *--top;
        }
    } while (at != nullptr);
    return best;
}

// The slow path of `cosf` has a part of the stack's bytes, when that is not needed any more.
__global__ void beside_a_slow_path(Leaf *root, const float *in, float *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    float found = nearest(root, in[t]);
    out[t] = cosf(found * 6.2831853f) + sinf(found * 6.2831853f); //~ slow_path_math sm_120
}

__noinline__ __device__ int gathered(const float *from, float *to) {
    int count = 0;
    for (int i = 0; i < 9; ++i)
        if (from[i] != 0) to[count++] = from[i];
    return count;
}

// The loop alone does not keep `kept` in memory: its address is passed on.
__global__ void walked_and_passed_on(const float *in, float *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[9], sum = 0; //~ address_escape
    int count = gathered(in + t * 9, kept);
    for (int i = 0; i < count; ++i) sum += kept[i];
    out[t] = sum;
}
