#pragma once
template <typename T>
struct Span {
    T *data;
    int size;
    __device__ T &operator[](int i) const { return data[i]; }
    __device__ T *begin() const { return data; }
};

template <typename T, int N>
struct View {
    T (&all)[N];
    __device__ T &at(int i) const { return all[i]; }
};

template <class Derived>
struct Table {
    __device__ float get(int i) const { return static_cast<const Derived *>(this)->values[i]; }
    __device__ void set(int i, float v) { static_cast<Derived *>(this)->values[i] = v; }
};
struct Tall : Table<Tall> {
    float values[24];
};
