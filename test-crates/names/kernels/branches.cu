// What both branches of a condition access, the compiler accesses once, without a line: the loop and the array are those of the
// function that was inlined, not those of the call.

struct Views {
    int count;
    bool geometric;
};

__device__ float weighted(const float *in, const Views views) {
    float costs[32] = {2.0f}; //~ rolled_loop
    for (int i = 1; i < views.count; ++i) costs[i - 1] = in[i * 11] * in[i * 11 + 1];
    float sum = 0;
    for (int j = 0; j < views.count - 1; ++j) {
        if (views.geometric) {
            sum += in[j] * (costs[j] + 0.2f * in[j + 1]);
        } else {
            sum += in[j] * costs[j];
        }
    }
    return sum;
}

__global__ void in_both_branches(const float *in, float *out, const Views views) {
    for (int s = 0; s < 5; ++s) out[threadIdx.x + s] = weighted(in + threadIdx.x, views);
}

// `T` is `volatile unsigned`.
template <class T>
__device__ __forceinline__ void order(T *pair) {
    T high = pair[0]; //~ volatile_local
    if (high > pair[1]) {
        pair[0] = pair[1];
        pair[1] = high;
    }
}

__global__ void volatile_by_deduction(unsigned *out) {
    __shared__ volatile unsigned kept[128];
    kept[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) order(&kept[threadIdx.x * 2]);
    __syncthreads();
    out[threadIdx.x] = kept[threadIdx.x];
}

extern "C" int printf(const char *, ...);

// Constant indices would not help: `printf` takes the address.
__global__ void printed(const unsigned char *in, int n) {
    char text[64]; //~ address_escape
    int i = in[threadIdx.x];
    for (int j = 0; j < n; ++j, ++i) text[i & 63] = in[j];
    text[63] = 0;
    printf("%s\n", text);
}

// The rolled loop is the inner one, which ptxas unrolls.
struct Hash {
    unsigned length, filled;
    unsigned char block[128];
};

__global__ void filled_up(const unsigned char *in, unsigned *out) {
    Hash hash; //~ rolled_loop sm_80 sm_90
    for (int a = 0; a < 1000; ++a) {
        hash.filled = 0;
        for (int i = 0; i < 32; ++i) hash.block[i] = in[threadIdx.x * 32 + i] + a;
        hash.filled += 32;
        while (hash.filled < 120) hash.block[hash.filled++] = 0;
        unsigned sum = 0;
        for (int i = 0; i < 128; ++i) sum = sum * 31 + hash.block[i];
        out[threadIdx.x] += sum;
    }
}
