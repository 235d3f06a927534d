// Insertion into small sorted arrays.

#define KEPT 8

// Keys with their values: both move.
extern "C" __global__ void nearest(const float *depths, const float *colours, const int *counts, float *out) {
    float depth[KEPT], colour[KEPT]; //~ dynamic_index //~ dynamic_index
    int used = 0;
    for (int f = 0; f < counts[threadIdx.x]; ++f) {
        const float d = depths[f * 64 + threadIdx.x], c = colours[f * 64 + threadIdx.x];
        if (used == KEPT && d >= depth[KEPT - 1]) continue;
        int at = used < KEPT ? used++ : KEPT - 1;
        while (at > 0 && depth[at - 1] > d) {
            depth[at] = depth[at - 1];
            colour[at] = colour[at - 1];
            --at;
        }
        depth[at] = d;
        colour[at] = c;
    }
    float light = 0.0f;
    for (int i = 0; i < used; ++i) light = light * 0.5f + colour[i];
    out[threadIdx.x] = light;
}

// A sort: the first value of the inner counter is constant where the outer loop is unrolled.
extern "C" __global__ void middle(const int *in, int *out, int n) {
    int window[12]; //~ dynamic_index
    for (int i = 0; i < n; ++i) window[i] = in[i * 64 + threadIdx.x];
    for (int i = 1; i < n; ++i) {
        const int value = window[i];
        int j = i - 1;
        for (; j >= 0 && window[j] > value; --j) window[j + 1] = window[j];
        window[j + 1] = value;
    }
    for (int i = 0; i < n; ++i) out[i * 64 + threadIdx.x] = window[i];
}

// A class, whose method inserts.
template <int K> struct Best {
    float score[K];
    int token[K];
    int size;
    __device__ void insert(float s, int t) {
        if (size == K && s <= score[K - 1]) return;
        int at = size < K ? size++ : K - 1;
        while (at > 0 && score[at - 1] < s) {
            score[at] = score[at - 1];
            token[at] = token[at - 1];
            at--;
        }
        score[at] = s;
        token[at] = t;
    }
};

template <int K> __global__ void top(const float *in, int *out, int n) {
    Best<K> best; //~ dynamic_index
    best.size = 0;
    for (int t = 0; t < n; ++t) best.insert(in[t * 64 + threadIdx.x], t);
    for (int k = 0; k < K; ++k) out[k * 64 + threadIdx.x] = best.token[k];
}
template __global__ void top<6>(const float *, int *, int);

// The place where the last one was inserted is used: it stays as it is.
extern "C" __global__ void resumed(const float *in, float *out, int n) {
    float kept[KEPT] = {}; //~ dynamic_index
    int at = KEPT - 1;
    for (int i = 0; i < n; ++i) {
        const float value = in[i * 64 + threadIdx.x];
        while (at > 0 && kept[at - 1] > value) {
            kept[at] = kept[at - 1];
            --at;
        }
        kept[at] = value;
        at = (at + 3) & 7;
    }
    for (int i = 0; i < KEPT; ++i) out[i * 64 + threadIdx.x] = kept[i];
}

// A search that ends where the new element belongs.
extern "C" __global__ void scanned(const float *in, float *out, int *token, int n) {
    float best[KEPT]; //~ rolled_loop
    int which[KEPT]; //~ rolled_loop
    for (int k = 0; k < KEPT; ++k) {
        best[k] = 1e30f;
        which[k] = -1;
    }
    for (int i = 0; i < n; ++i) {
        const float d = in[i * 64 + threadIdx.x];
        for (int p = 0; p < KEPT; ++p) {
            if (d < best[p]) {
                for (int q = KEPT - 1; q > p; --q) {
                    best[q] = best[q - 1];
                    which[q] = which[q - 1];
                }
                best[p] = d;
                which[p] = i;
                break;
            }
        }
    }
    for (int k = 0; k < KEPT; ++k) {
        out[k * 64 + threadIdx.x] = best[k];
        token[k * 64 + threadIdx.x] = which[k];
    }
}
