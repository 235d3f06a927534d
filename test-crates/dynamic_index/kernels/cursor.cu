// Positions that a loop steps and that are no loop counters.

struct Keystream {
    unsigned words[16];
    unsigned char bytes[64];
    unsigned at;

    __device__ void refill() {
        for (int k = 0; k < 16; ++k) {
            words[k] = words[k] * 1664525u + words[(k + 5) & 15];
            bytes[4 * k] = words[k] >> 24;
            bytes[4 * k + 1] = words[k] >> 16;
            bytes[4 * k + 2] = words[k] >> 8;
            bytes[4 * k + 3] = words[k];
        }
        at = 0;
    }
};

// `at` starts anew whenever the bytes are used up: no unrolled loop over `i` makes it a constant.
extern "C" __global__ void encrypt(unsigned char *text, int n, unsigned key) {
    Keystream stream; //~ dynamic_index
    for (int k = 0; k < 16; ++k) stream.words[k] = key + k;
    stream.at = 64;
    for (int i = 0; i < n; ++i) {
        if (stream.at >= 64) stream.refill();
        text[i * 32 + threadIdx.x] ^= stream.bytes[stream.at++];
    }
}

__device__ int release(const int *held, int *uses, int count, int wanted) {
    for (int i = 0; i < count; ++i) {
        if (held[i] == wanted) return --uses[i];
    }
    return 0;
}

// What a search found is as good as loaded: the loop around the search does not step it.
extern "C" __global__ void settle(const int *asked, const int *held, int *out, int n, int count) {
    int uses[96]; //~ dynamic_index
    for (int k = 0; k < 96; ++k) uses[k] = 2;
    int last = 0;
    for (int r = 0; r < n; ++r) last += release(held, uses, count, asked[r * 32 + threadIdx.x]);
    out[threadIdx.x] = last;
}
