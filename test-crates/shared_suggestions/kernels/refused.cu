// Arrays that stay: shared memory would change what the kernel means, or does not pay.

struct Tally {
    int hits = 0;
    float weight;
};

struct Cursor {
    int at[8];
    __device__ ~Cursor() {}
};

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

// Elements that are constructed.
extern "C" __global__ void __launch_bounds__(128) constructed(const int *key, int *out, int n) {
    Tally tally[12]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < n; ++k) tally[key[k * n + i] % 12].hits += k;
    for (int t = 0; t < 12; ++t) out[t * n + i] = tally[t].hits;
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

// Only the compiler knows that the array is as aligned as the cast asks.
extern "C" __global__ void __launch_bounds__(128) by_vector(const int *key, int4 *out, int n) {
    int bin[32]; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int b = 0; b < 32; ++b) bin[b] = 0;
    for (int k = 0; k < n; ++k) ++bin[key[k * n + i] & 31];
    for (int b = 0; b < 8; ++b) out[b * n + i] = reinterpret_cast<int4 *>(bin)[b];
}

// Nobody would call the destructor.
extern "C" __global__ void __launch_bounds__(128) destroyed(const int *key, int *out, int n) {
    Cursor cursor; //~ dynamic_index
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int b = 0; b < 8; ++b) cursor.at[b] = 0;
    for (int k = 0; k < n; ++k) ++cursor.at[key[k * n + i] & 7];
    for (int b = 0; b < 8; ++b) out[b * n + i] = cursor.at[b];
}
