#include <cassert>
#include <cstdio>

// The arguments lie in local memory, even though the branch is never taken.
extern "C" __global__ void checked(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    if (x != x) printf("element %d is %f\n", i, x); //~ printf_buffer
    out[i] = x * x;
}

// Without arguments there is nothing to keep.
extern "C" __global__ void greeted(float *out) {
    if (threadIdx.x == 0) printf("started\n");
    out[threadIdx.x] = 0.0f;
}

// `assert` needs no frame.
extern "C" __global__ void asserted(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    assert(x == x);
    out[i] = x * x;
}
