// Searches in a small list that each thread keeps.

// A loop with a `break` has two ways out and stays a loop.
extern "C" __global__ void first_above(const int *in, int *out, int n, int limit) {
    int list[24]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = 0;
#pragma unroll 1
    for (int k = 0; k < 24; ++k) {
        list[k] = in[k * n + i];
        total += list[k];
    }
    int found = -1;
#pragma unroll 1
    for (int k = 0; k < 24; ++k) {
        if (list[k] * limit > total) {
            found = k;
            break;
        }
    }
    out[i] = found;
}

// A flag in place of the `break`.
extern "C" __global__ void first_above_unrolled(const int *in, int *out, int n, int limit) {
    int list[24];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = 0;
#pragma unroll
    for (int k = 0; k < 24; ++k) {
        list[k] = in[k * n + i];
        total += list[k];
    }
    int found = -1;
#pragma unroll
    for (int k = 0; k < 24; ++k) {
        if (found < 0 && list[k] * limit > total) found = k;
    }
    out[i] = found;
}

// The loop is rolled as well, but the list lies in shared memory.
extern "C" __global__ void __launch_bounds__(128) first_above_shared(const int *in, int *out, int n, int limit) {
    __shared__ int list[24][128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = 0;
#pragma unroll 1
    for (int k = 0; k < 24; ++k) {
        list[k][threadIdx.x] = in[k * n + i];
        total += list[k][threadIdx.x];
    }
    int found = -1;
#pragma unroll 1
    for (int k = 0; k < 24 && found < 0; ++k) {
        if (list[k][threadIdx.x] * limit > total) found = k;
    }
    out[i] = found;
}
