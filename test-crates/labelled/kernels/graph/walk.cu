// Walks through graphs in compressed rows, one start node for a thread.
#include "../../include/array.cuh"

struct Csr {
    const int *row;
    const int *column;
    int nodes;
};

constexpr int MaxDepth = 48;

// Depth first; the stack belongs to the thread.
__global__ void count_reachable(Csr graph, const unsigned *__restrict__ closed, int *__restrict__ reached)
{
    int stack[MaxDepth]; //@ object stack: dynamic_index
    int top = 0, count = 0;
    const int source = blockIdx.x * blockDim.x + threadIdx.x;
    if (source >= graph.nodes) return;
    stack[top++] = source;
    while (top > 0) {
        const int node = stack[--top]; //@ access stack
        ++count;
        for (int e = graph.row[node]; e < graph.row[node + 1]; ++e) {
            const int next = graph.column[e];
            if (top < MaxDepth && !(closed[next >> 5] >> (next & 31) & 1u))
                stack[top++] = next; //@ access stack
        }
    }
    reached[source] = count;
}

// The same stack, in a class.
__global__ void longest_path(Csr graph, const float *__restrict__ weight, float *__restrict__ longest)
{
    const int source = blockIdx.x * blockDim.x + threadIdx.x;
    if (source >= graph.nodes) return;
    FixedStack<int2, 24> pending; //@ object pending|pending.slots_|slots_: dynamic_index
    pending.push(make_int2(source, __float_as_int(0.0f)));
    float best = 0.0f;
    while (!pending.empty()) {
        const int2 entry = pending.pop();
        const float so_far = __int_as_float(entry.y);
        best = fmaxf(best, so_far);
        for (int e = graph.row[entry.x]; e < graph.row[entry.x + 1]; ++e)
            pending.push(make_int2(graph.column[e], __float_as_int(so_far + weight[e])));
    }
    longest[source] = best;
}

// The first free colour: flags as bytes, set by what the neighbours have.
__global__ void first_free_colour(Csr graph, const int *__restrict__ colour, int *__restrict__ proposal)
{
    bool taken[32]; //@ object taken: dynamic_index
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= graph.nodes) return;
    for (bool &flag : taken) flag = false;
    for (int e = graph.row[node]; e < graph.row[node + 1]; ++e) {
        const int other = colour[graph.column[e]];
        if (other >= 0 && other < 32) taken[other] = true; //@ access taken
    }
    int first = 0;
    while (first < 32 && taken[first]) ++first;
    proposal[node] = first;
}

// The same with a bit for each colour.
__global__ void first_free_colour_bits(Csr graph, const int *__restrict__ colour, int *__restrict__ proposal) //@ clean
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= graph.nodes) return;
    unsigned taken[1] = {0};
    for (int e = graph.row[node]; e < graph.row[node + 1]; ++e) {
        const int other = colour[graph.column[e]];
        if (other >= 0 && other < 32) taken[other >> 5] |= 1u << other;
    }
    proposal[node] = __ffs(~taken[0]) - 1;
}

// Queue of a breadth-first search, kept small by the radius.
__global__ void ball_size(Csr graph, int radius, int *__restrict__ size)
{
    const int source = blockIdx.x * blockDim.x + threadIdx.x;
    if (source >= graph.nodes) return;
    short distance[40]; //@ object distance: dynamic_index | rolled_loop
    int queue[40]; //@ object queue: dynamic_index | rolled_loop
    int head = 0, tail = 0;
    queue[tail] = source;
    distance[tail++] = 0;
    while (head < tail) {
        const int node = queue[head]; //@ access queue
        const int steps = distance[head++]; //@ access distance
        if (steps == radius) continue;
        for (int e = graph.row[node]; e < graph.row[node + 1] && tail < 40; ++e) {
            queue[tail] = graph.column[e]; //@ access queue
            distance[tail] = (short)(steps + 1); //@ access distance
            ++tail;
        }
    }
    size[source] = tail;
}

// Degrees by bucket: captured by reference in a lambda that is called in two places.
__global__ void degree_buckets(Csr graph, int *__restrict__ total, int *__restrict__ squared)
{
    int bucket[10] = {}; //@ object bucket: dynamic_index
    const int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    auto note = [&bucket](int degree) { bucket[31 - __clz(degree | 1)] += degree; }; //@ access bucket
    for (int node = first; node < graph.nodes; node += stride) {
        const int degree = graph.row[node + 1] - graph.row[node];
        note(degree);
        if (degree & 1) note(degree >> 1);
    }
    for (int b = 0; b < 10; ++b) {
        atomicAdd(&total[b], bucket[b]);
        atomicAdd(&squared[b], bucket[b] * bucket[b]);
    }
}
