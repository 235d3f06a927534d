// What is used as a whole becomes a row of shared memory for each thread.

#define LEVEL(value) level[(value) >> 3]

template <typename T, int Capacity> class Ring {
public:
    __device__ void push(T value) {
        slot[head] = value;
        head = head + 1 == Capacity ? 0 : head + 1;
    }
    __device__ T oldest() const { return slot[head]; }

private:
    T slot[Capacity] = {};
    int head = 0;
};

struct Queue {
    unsigned char item[30];
    unsigned char first, last;
};

__device__ void put(Queue *queue, unsigned char item) { queue->item[queue->last++ % 30] = item; }

__device__ unsigned char take(Queue *queue) { return queue->item[queue->first++ % 30]; }

__device__ int root(const short *parent, int v) {
    while (parent[v] != v) v = parent[v];
    return v;
}

struct Walker {
    float position[3];
    float pace[9];
};

struct Gains {
    float gain[24];
    int used;
};

// A class with values to start with; its methods have the index.
extern "C" __global__ void __launch_bounds__(128) delayed(const float *in, float *out, int n) {
    Ring<float, 13> line; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < n; ++k) {
        const float before = line.oldest();
        line.push(in[k * n + i]);
        out[k * n + i] = in[k * n + i] - before;
    }
}

// Functions that get its address.
extern "C" __global__ void __launch_bounds__(128) spread(const unsigned *edges, unsigned char *order, int n) {
    Queue queue = {{}, 0, 0}; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    unsigned seen = 1;
    put(&queue, 0);
    for (int k = 0; queue.first != queue.last; ++k) {
        const int node = take(&queue);
        order[k * n + i] = node;
        for (unsigned next = edges[node * n + i] & ~seen; next != 0; next &= next - 1) {
            seen |= next & -next;
            put(&queue, __ffs(next) - 1);
        }
    }
}

// An array that a function gets.
extern "C" __global__ void __launch_bounds__(128) merge(const uchar2 *pairs, int *left, int n) {
    short parent[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    int sets = 32;
    for (int v = 0; v < 32; ++v) parent[v] = v;
    for (int k = 0; k < n; ++k) {
        const uchar2 pair = pairs[k * n + i];
        const int a = root(parent, pair.x & 31), b = root(parent, pair.y & 31);
        if (a != b) {
            parent[a] = b;
            --sets;
        }
    }
    left[i] = sets;
}

// A copy of a structure, between other variables of one statement.
extern "C" __global__ void __launch_bounds__(128) step(Walker *walkers, const unsigned char *axis, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    Walker first = walkers[0], own = walkers[i], last = first; //~ dynamic_index
    for (int k = 0; k < n; ++k) {
        float &pace = own.pace[axis[k * n + i]];
        pace = 0.5f * pace + first.position[0];
        own.position[1] += pace;
    }
    own.position[2] = last.position[2];
    walkers[i] = own;
}

// A parameter of which elements are written.
extern "C" __global__ void __launch_bounds__(128) settle(Gains gains, const unsigned char *at, float *out, int n) { //~ param_copy
    const int i = blockIdx.x * 128 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        gains.gain[at[k * n + i]] *= 0.5f;
        sum += gains.gain[at[k * n + i] & 7];
    }
    out[i] = sum * gains.used;
}

// A pointer walks over the array: it must stay together.
extern "C" __global__ void __launch_bounds__(128) by_pointer(const int *key, int *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int *b = bin; b != bin + 32; ++b) *b = 0;
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b];
}

// A macro names the array.
extern "C" __global__ void __launch_bounds__(128) by_macro(const int *key, int *out, int n) {
    int level[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int l = 0; l < 32; ++l) level[l] = 0;
    for (int k = 0; k < n; ++k) ++LEVEL(key[k * n + i] & 255);
    for (int l = 0; l < 32; ++l) out[l * n + i] = level[l];
}

// A lambda has a copy of what the array was then.
extern "C" __global__ void __launch_bounds__(128) by_copy(const int *key, int *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int b = 0; b < 32; ++b) bin[b] = key[b];
    const auto before = [=](int b) { return bin[b]; };
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b] - before(b);
}
