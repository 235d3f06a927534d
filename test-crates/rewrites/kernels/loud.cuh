#pragma once

// An operator that may end the thread: a round more or less than before matters.
struct Checked {
    float x;
    __device__ Checked(float x) : x(x) {
        if (x < 0) __trap();
    }
};
__device__ inline float operator+(float a, const Checked &b) { return a + b.x; }
