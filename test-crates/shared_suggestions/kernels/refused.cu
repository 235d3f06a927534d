// Arrays that stay: shared memory would change what the kernel means, or does not pay.

struct Tally {
    int hits = 0;
    float weight;
};

#define LEVEL(value) level[(value) >> 3]

// As large a block as may be has no room.
extern "C" __global__ void __launch_bounds__(1024) no_room(const int *key, int *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 1024 + threadIdx.x;
    for (int b = 0; b < 32; ++b) bin[b] = 0;
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b];
}

// The launch decides how much shared memory there is.
extern "C" __global__ void __launch_bounds__(128) dynamic_room(const int *key, int *out, int n) {
    extern __shared__ int table[];
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int b = 0; b < 32; ++b) bin[b] = 0;
    for (int k = 0; k < n; ++k) ++bin[(key[k * n + i] + table[k & 63]) & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b];
}

// How large blocks are is not known.
extern "C" __global__ void any_block(const int *key, int *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int b = 0; b < 32; ++b) bin[b] = 0;
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b];
}

// A pointer to the array would step over the columns of other threads.
extern "C" __global__ void __launch_bounds__(128) by_pointer(const int *key, int *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int *b = bin; b != bin + 32; ++b) *b = 0;
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b];
}

// Elements that are constructed.
extern "C" __global__ void __launch_bounds__(128) constructed(const int *key, int *out, int n) {
    Tally tally[12]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < n; ++k) tally[key[k * n + i] % 12].hits += k;
    for (int t = 0; t < 12; ++t) out[t * n + i] = tally[t].hits;
}

// A macro that names it.
extern "C" __global__ void __launch_bounds__(128) by_macro(const int *key, int *out, int n) {
    int level[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int l = 0; l < 32; ++l) level[l] = 0;
    for (int k = 0; k < n; ++k) ++LEVEL(key[k * n + i] & 255);
    for (int l = 0; l < 32; ++l) out[l * n + i] = level[l];
}

// The lambda has a copy of what the array was then.
extern "C" __global__ void __launch_bounds__(128) by_copy(const int *key, int *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int b = 0; b < 32; ++b) bin[b] = key[b];
    const auto before = [=](int b) { return bin[b]; };
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 32; ++b) out[b * n + i] = bin[b] - before(b);
}

// A stack that is hot in the cache: the nodes are what takes time, and fewer blocks would wait for them at a time.
extern "C" __global__ void __launch_bounds__(128) traverse(const int2 *children, const float *weight, float *out, int n) {
    int stack[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    float sum = 0.0f;
    int depth = 0;
    stack[depth++] = i % n;
    while (depth > 0) {
        const int node = stack[--depth];
        sum += weight[node];
        const int2 next = children[node];
        if (next.x >= 0) stack[depth++] = next.x;
        if (next.y >= 0) stack[depth++] = next.y;
    }
    out[i] = sum;
}
