// Statements in a row on one element, and the one that a search finds.

struct Place {
    float distance;
    int id, hits;
};

// The farthest of the nearest is replaced.
extern "C" __global__ void nearest(const float *in, float *out, int n) {
    Place near[8]; //~ dynamic_index
    for (int i = 0; i < 8; ++i) near[i] = Place{1e30f, -1, 0};
    int far = 0;
    for (int i = 0; i < n; ++i) {
        const float d = fabsf(in[i * 32 + threadIdx.x]);
        if (d >= near[far].distance) continue;
        near[far].distance = d;
        near[far].id = i;
        near[far].hits++;
        far = 0;
        for (int j = 1; j < 8; ++j)
            if (near[j].distance > near[far].distance) far = j;
    }
    for (int i = 0; i < 8; ++i) {
        float *to = out + (i * 32 + threadIdx.x) * 3;
        to[0] = near[i].distance;
        to[1] = near[i].id;
        to[2] = near[i].hits;
    }
}

// Nothing else is asked of the place of the best: it is not kept.
extern "C" __global__ void best(const float *in, const int *order, float *out, int n) {
    Place all[6]; //~ dynamic_index
    for (int i = 0; i < 6; ++i) all[i] = Place{in[i], i, 0};
    for (int i = 0; i < n; ++i) {
        const int at = order[i * 32 + threadIdx.x] % 6;
        all[at].distance = in[i * 32 + threadIdx.x];
        all[at].hits += 1;
        int best = 0;
        for (int j = 1; j < 6; ++j)
            if (all[j].distance < all[best].distance) best = j;
        out[i * 32 + threadIdx.x] = all[best].distance + all[best].hits;
    }
}

__device__ void exchange(float &one, float &other) {
    float kept = one;
    one = other;
    other = kept;
}

// By a call, and by hand.
extern "C" __global__ void exchanged(const int *order, float *out, int n) {
    float a[8]; //~ dynamic_index
    for (int i = 0; i < 8; ++i) a[i] = out[i * 32 + threadIdx.x];
    for (int i = 0; i < n; ++i) {
        const int at = order[i * 32 + threadIdx.x] & 7;
        exchange(a[at], a[0]);
        const int by_hand = order[(n + i) * 32 + threadIdx.x] & 7;
        float kept = a[by_hand];
        a[by_hand] = a[7] * 0.5f;
        a[7] = kept;
    }
    for (int i = 0; i < 8; ++i) out[i * 32 + threadIdx.x] = a[i];
}
