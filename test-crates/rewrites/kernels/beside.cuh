#pragma once

// Classes with operators, as every project has some. Nothing in them ends a thread or waits for others.
struct Ray {
    float x, y;
    __device__ Ray(float x, float y) : x(x), y(y) {}
};
__device__ inline Ray operator*(float scale, const Ray &ray) { return Ray(scale * ray.x, scale * ray.y); }

struct Hits {
    float near[4];
    bool hit[4];
};

__device__ inline Hits meet(const float *box, const Ray &ray) {
    Hits hits;
    for (int i = 0; i < 4; i++) {
        float at = box[i] * ray.x;
        hits.hit[i] = box[i + 4] < ray.y;
        // The two lowest bits are the child.
        hits.near[i] = __uint_as_float((__float_as_uint(at) & ~3u) | (3 - i));
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (hits.near[i] < hits.near[i + 2]) {
            float other = hits.near[i];
            hits.near[i] = hits.near[i + 2];
            hits.near[i + 2] = other;
        }
    }
    return hits;
}

