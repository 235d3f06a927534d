#pragma once

// A class that keeps what it is made of by reference, and one that counts what it is compared with.
struct Hits {
    float near[4];
    bool hit[4];
};
struct View {
    const bool& one;
    __device__ View(const bool& one) : one(one) {}
    __device__ bool get() const { return one; }
};
__device__ inline Hits meet(const float* box, float far) {
    Hits hits;
    for (int i = 0; i < 4; i++) {
        hits.hit[i] = box[i + 4] < far;
        hits.near[i] = box[i];
    }
    return hits;
}
