#pragma once

// What a project's header has: classes with operators, of which none ends a thread or meets another.
struct Pair {
    float x, y;
    __device__ Pair(float x, float y) : x(x), y(y) {}
};
__device__ inline Pair operator+(const Pair& a, const Pair& b) { return Pair(a.x + b.x, a.y * b.y); }
__device__ inline float weigh(float x, int order) { return x * (1.0f + (order & 3)); }

struct Hits {
    float near[4];
    bool hit[4];
};
__device__ inline Hits meet(const float* box, float far) {
    Hits hits;
    for (int i = 0; i < 4; i++) {
        hits.hit[i] = box[i + 4] < far;
        hits.near[i] = __uint_as_float((__float_as_uint(box[i]) & ~3u) | (3 - i));
    }
    for (int i = 0; i < 2; i++) {
        if (hits.near[i] < hits.near[i + 2]) {
            float other = hits.near[i];
            hits.near[i] = hits.near[i + 2];
            hits.near[i + 2] = other;
        }
    }
    return hits;
}
