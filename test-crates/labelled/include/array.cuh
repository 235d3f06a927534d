// Containers of fixed size for device code.
#pragma once

template <typename T, int N>
struct Array {
    T items[N];

    __device__ __forceinline__ T &operator[](int i) { return items[i]; }
    __device__ __forceinline__ const T &operator[](int i) const { return items[i]; }
    __device__ __forceinline__ void fill(T value) {
#pragma unroll
        for (int i = 0; i < N; ++i) items[i] = value;
    }
};

// A stack that never checks its bounds.
template <typename T, int Capacity>
class FixedStack {
public:
    __device__ void push(T value) { slots_[size_++] = value; } //@ access pending in longest_path
    __device__ T pop() { return slots_[--size_]; } //@ access pending in longest_path
    __device__ bool empty() const { return size_ == 0; }

private:
    T slots_[Capacity];
    int size_ = 0;
};
