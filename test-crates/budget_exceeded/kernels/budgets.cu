// Budgets beside kernels, and in the settings.
#include "budgets.cuh"

// lmem: budget(stack = 0, registers <= 64)
__global__ void within(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }

// lmem: budget(stack = 0)
__global__ void indexed(const int *order, float *out, int n) { //~ budget_exceeded
    float bins[8] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & 7] += 1.0f;
    out[threadIdx.x] = bins[n & 7];
}

// lmem: budget(stack <= 32, reason = "the bins of `indexed`, and no more")
__global__ void indexed_as_planned(const int *order, float *out, int n) {
    float bins[8] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & 7] += 1.0f;
    out[threadIdx.x] = bins[n & 7];
}

// 80 registers are limited to 64 by the bounds, and the rest is spilled.
// lmem: budget(spills = 0)
__global__ void __launch_bounds__(1024) spilling(const float *in, float *out, int rounds) { //~ budget_exceeded
    mix<80>(in, out, rounds);
}

// lmem: budget(registers <= 48, occupancy >= 50%)
__global__ void __launch_bounds__(256) crowded(const float *in, float *out, int rounds) { //~ budget_exceeded
    mix<72>(in, out, rounds);
}

/* lmem: budget(occupancy >= 10%) */
__global__ void __launch_bounds__(256) airy(const float *in, float *out, int rounds) { mix<72>(in, out, rounds); }

// Each instance of a template has the budget.
// lmem: budget(stack <= 32)
template <int N>
__global__ void histogram(const int *order, float *out, int n) { //~ budget_exceeded
    float bins[N] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & (N - 1)] += 1.0f;
    out[threadIdx.x] = bins[n & (N - 1)];
}
template __global__ void histogram<8>(const int *, float *, int);
template __global__ void histogram<16>(const int *, float *, int);

__global__ void tile_small(const float *in, float *out) { //~ budget_exceeded
    __shared__ float tile[1024];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void tile_wide(const float *in, float *out) {
    __shared__ float tile[2048];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// A comment comes before the settings.
// lmem: budget(shared <= 1K)
__global__ void tile_of_comment(const float *in, float *out) { //~ budget_exceeded
    __shared__ float tile[512];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Somebody lives with it.
// lmem: allow(budget_exceeded, reason = "until the table moves")
// lmem: budget(stack = 0)
__global__ void accepted(const int *order, float *out, int n) {
    float bins[8] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & 7] += 1.0f;
    out[threadIdx.x] = bins[n & 7];
}

// lmem: budget(stack = 0)
//~^ unused_budget
__device__ float no_kernel(float value) { return value; }

// lmem: budget(register <= 64)
//~^ invalid_directive
__global__ void misspelt(float *out) { out[threadIdx.x] = 1.0f; }
