// A tile of 16 × 16 sums for each thread: more than the registers of a thread.

#include "outer.cuh"

// All spills fit into 44 KiB of shared memory.
__global__ void __launch_bounds__(256) tile(const float *a, const float *b, float *c, int n) { //~ shared_spill_available
    outer_product(a, b, c, n);
}

// The same with the pragma.
__global__ void __launch_bounds__(256) tile_shared(const float *a, const float *b, float *c, int n) {
    asm volatile(".pragma \"enable_smem_spilling\";");
    outer_product(a, b, c, n);
}

// Without bounds ptxas budgets for more threads, and less fits.
__global__ void tile_unbounded(const float *a, const float *b, float *c, int n) { //~ shared_spill_available
    outer_product(a, b, c, n);
}

// What the kernel shares already leaves room for a part.
__global__ void __launch_bounds__(256) tile_with_halo(const float *a, const float *b, float *c, int n) { //~ shared_spill_available
    __shared__ float halo[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) halo[i] = a[i];
    __syncthreads();
    outer_product(a, b, c, n);
    c[blockIdx.x] += halo[n & 4095];
}

// 48 KiB are taken: nothing is left.
__global__ void __launch_bounds__(256) tile_full(const float *a, const float *b, float *c, int n) {
    __shared__ float staged[12288];
    for (int i = threadIdx.x; i < 12288; i += blockDim.x) staged[i] = a[i];
    __syncthreads();
    outer_product(a, b, c, n);
    c[blockIdx.x] += staged[n % 12288];
}

extern __shared__ float staging[];

// ptxas refuses the pragma beside dynamic shared memory.
__global__ void __launch_bounds__(256) tile_dynamic(const float *a, const float *b, float *c, int n) {
    staging[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    outer_product(a, b, c, n);
    c[blockIdx.x] += staging[n & 255];
}

// And beside a call.
__global__ void __launch_bounds__(256) tile_checked(const float *a, const float *b, float *c, int n) {
    outer_product(a, b, c, n);
    if (n < 0) __trap(), report(n);
}

// This one fits.
__global__ void __launch_bounds__(256) tile_small(const float *a, const float *b, float *c, int n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    c[threadIdx.x] = sum;
}
