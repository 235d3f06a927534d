#pragma once

// Operators that neither end a thread nor wait for others.
struct Pair {
    float x, y;
    __device__ Pair(float x, float y) : x(x), y(y) {}
};
__device__ inline Pair operator+(const Pair &a, const Pair &b) { return Pair(a.x + b.x, a.y + b.y); }
__device__ inline float weight(float x, int order) { return x * (1.0f + order); }
