#include "views.cuh"
// A closure that reads an array: the array is the object, not the closure.
__global__ void closure(const float *in, const int *order, float *out, int n) {
    float window[40]; //~ dynamic_index
    for (int k = 0; k < 40; ++k) window[k] = in[k * n + threadIdx.x];
    auto get = [&](int i) { return window[i]; };
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += get(order[k]) * get(order[k] + 1);
    out[threadIdx.x] = sum;
}
__global__ void closure_writes(const float *in, const int *order, float *out, int n) {
    float bins[24] = {}; //~ dynamic_index
    auto add = [&bins](int i, float v) { bins[i] += v; };
    for (int k = 0; k < n; ++k) add(order[k], in[k]);
    for (int k = 0; k < 24; ++k) out[threadIdx.x * 24 + k] = bins[k];
}
template <class F>
__device__ float twice(F f, int i) { return f(i) + f(i + 1); }
__global__ void handed_on(const float *in, const int *order, float *out, int n) {
    float taps[20]; //~ dynamic_index
    for (int k = 0; k < 20; ++k) taps[k] = in[k * n + threadIdx.x];
    auto pick = [&](int i) { return taps[i]; };
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += twice(pick, order[k]);
    out[threadIdx.x] = sum;
}
__global__ void spans(const float *in, const int *order, float *out, int n) {
    float row[36]; //~ dynamic_index
    for (int k = 0; k < 36; ++k) row[k] = in[k * n + threadIdx.x];
    Span<float> view{row, 36};
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += view[order[k]];
    out[threadIdx.x] = sum;
}
__device__ float total(Span<float> s, const int *order, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += s[order[k]];
    return sum;
}
__global__ void span_argument(const float *in, const int *order, float *out, int n) {
    float cells[28]; //~ dynamic_index
    for (int k = 0; k < 28; ++k) cells[k] = in[k * n + threadIdx.x];
    Span<float> part{cells + 4, 24};
    out[threadIdx.x] = total(part, order, n);
}
__global__ void view_of(const float *in, const int *order, float *out, int n) {
    float line[44]; //~ dynamic_index
    View<float, 44> lines{line};
    for (int k = 0; k < 44; ++k) lines.at(k) = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += lines.at(order[k]);
    out[threadIdx.x] = sum;
}
__global__ void pointer_struct(const float *in, const int *order, float *out, int n) {
    struct { float *p; int stride; } where;
    float grid[32]; //~ dynamic_index
    where.p = grid;
    where.stride = 4;
    for (int k = 0; k < 32; ++k) grid[k] = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += where.p[order[k] * where.stride + 1];
    out[threadIdx.x] = sum;
}
struct Both {
    Span<float> left, right;
};
__global__ void two_spans(const float *in, const int *order, float *out, int n) {
    float near[26], far[38]; //~ dynamic_index //~ dynamic_index
    for (int k = 0; k < 26; ++k) near[k] = in[k];
    for (int k = 0; k < 38; ++k) far[k] = in[k * n + threadIdx.x];
    Both both{{near, 26}, {far, 38}};
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += both.left[order[k]] - both.right[order[k + n]];
    out[threadIdx.x] = sum;
}
template <class Pick>
struct Walker {
    Pick pick;
    __device__ float at(int i) const { return pick(i); }
};
__global__ void stored_closure(const float *in, const int *order, float *out, int n) {
    float held[34]; //~ dynamic_index
    for (int k = 0; k < 34; ++k) held[k] = in[k * n + threadIdx.x];
    auto pick = [&](int i) { return held[i]; };
    Walker<decltype(pick)> walker{pick};
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += walker.at(order[k]);
    out[threadIdx.x] = sum;
}
