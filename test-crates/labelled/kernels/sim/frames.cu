// Calls with more than registers can carry, pointers that may lead to two places.
#include <cstring>

struct Moments {
    double value[20];
    int order;
};

// A large structure by value to a function that is not inlined: the call has a frame for it.
__device__ __noinline__ double centred(Moments moments, double shift) //@ object moments: call_frame | rolled_loop in centre_moments
{
    double sum = 0.0;
    for (int k = 0; k < moments.order; ++k) sum = sum * shift + moments.value[k]; //@ access moments in centre_moments
    return sum;
}

__global__ void centre_moments(const Moments *all, const double *shift, double *out, int n) //@ object -: call_frame
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = centred(all[i], shift[i]) + centred(all[i], -shift[i]); //@ access - //@ access moments
}

typedef double (*Model)(Moments, double);
__device__ double linear(Moments m, double x) { return m.value[0] + m.value[1] * x; } //@ object -: call_frame in linear|evaluate_models|visit_rows sm_80 sm_90 sm_120
__device__ double last(Moments m, double x) { return m.value[m.order] * x; } //@ object -: call_frame in last|evaluate_models|visit_rows sm_80 sm_90 sm_120
__device__ Model models[2] = {linear, last};

// The same through a pointer.
__global__ void evaluate_models(const Moments *all, const int *model, double *out, int n) //@ object -: call_frame
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = models[model[i]](all[i], 0.5 * i); //@ access -
}

// Reads from its own copy, or from memory, by one pointer.
__global__ void cached_rows(const float *rows, const int *use, float *out, int n, int columns)
{
    float cached[24]; //@ object cached: address_escape | rolled_loop
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int k = 0; k < 24; ++k) cached[k] = rows[k * n + i] * 2.0f;
    const float *row = use[i] < 0 ? cached : rows + use[i] * columns;
    float sum = 0.0f;
    for (int k = 0; k < columns; ++k) sum += row[k] * k; //@ access cached
    out[i] = sum;
}

// A header, cleared as far as the message is long.
__global__ void clear_headers(const int *length, const uint4 *in, uint4 *out, int n)
{
    unsigned char header[48]; //@ object header: dynamic_index | rolled_loop
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    memcpy(header, in + 3 * i, 48);
    memset(header, 0, length[i]); //@ access header
    memcpy(out + 3 * i, header, 48);
}

struct Visitor {
    float total;
    int visits;
    __device__ virtual void visit(float value) {
        total += value;
        ++visits;
    }
};

struct Largest : Visitor {
    __device__ void visit(float value) override { //@ object -: call_frame in Largest::visit|visit_rows|evaluate_models sm_80 sm_90 sm_120
        total = fmaxf(total, value);
        ++visits;
    }
};

__device__ __noinline__ void walk(const float *values, int count, Visitor &visitor)
{
    for (int k = 0; k < count; ++k) visitor.visit(values[k]);
}

// A visitor by reference, called through its table.
__global__ void visit_rows(const float *rows, float *out, int n, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Largest largest; //@ object largest: address_escape
    largest.total = 0.0f;
    largest.visits = 0;
    walk(rows + i * columns, columns, largest); //@ access largest
    out[i] = largest.total / largest.visits;
}

// Elements change places at random, by reference.
template <typename T>
__device__ __forceinline__ void exchange(T &a, T &b)
{
    const T held = a;
    a = b; //@ access card in deal_hands
    b = held; //@ access card in deal_hands
}

__global__ void deal_hands(unsigned *seeds, unsigned char *hands, int n, int rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned char card[52]; //@ object card: dynamic_index
    unsigned seed = seeds[i];
#pragma unroll
    for (int c = 0; c < 52; ++c) card[c] = c;
    for (int round = 0; round < rounds; ++round)
        for (int c = 51; c > 0; --c) {
            seed = seed * 1664525u + 1013904223u;
            exchange(card[c], card[seed % (c + 1)]); //@ access card
        }
#pragma unroll
    for (int c = 0; c < 5; ++c) hands[c * n + i] = card[c];
    seeds[i] = seed;
}

// Four floats at a time in a cache that each thread keeps: lines are found by hash.
__global__ void cached_gather(const float4 *table, const int *index, float4 *out, int n, int reads)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 line[8]; //@ object line: dynamic_index
    int tag[8]; //@ object tag: dynamic_index
#pragma unroll
    for (int k = 0; k < 8; ++k) tag[k] = -1;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int r = 0; r < reads; ++r) {
        const int wanted = index[r * n + i], slot = wanted & 7;
        if (tag[slot] != wanted) { //@ access tag
            tag[slot] = wanted; //@ access tag
            line[slot] = table[wanted]; //@ access line
        }
        const float4 found = line[slot]; //@ access line
        sum.x += found.x, sum.y += found.y, sum.z += found.z, sum.w += found.w;
    }
    out[i] = sum;
}
