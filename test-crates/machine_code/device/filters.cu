// What the images in `images/` are made of: compiled there, and not here.

#ifndef TAPS
#define TAPS 24
#endif

extern "C" __global__ void histogram(const int* in, int* out, int n) {
    int bins[16];  //~ dynamic_index sm_90
    for (int i = 0; i < 16; i++) bins[i] = 0;
    for (int i = 0; i < n; i++) bins[in[i] & 15] += 1;
    for (int i = 0; i < 16; i++) out[i] = bins[i];
}

extern "C" __global__ void __launch_bounds__(1024, 2) blend(float* data) {  //~ register_spill sm_90
    float tap[TAPS * 2];
#pragma unroll
    for (int i = 0; i < TAPS * 2; i++) tap[i] = data[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TAPS * 2; i++) {
        data[i * 1024 + threadIdx.x] = tap[i] * tap[(i * 7) % (TAPS * 2)] + tap[(i + 1) % (TAPS * 2)];
    }
}

__device__ __noinline__ int depth(const int* tree, int node) {  //~ recursive_call sm_90
    if (node < 0) return 0;
    return 1 + max(depth(tree, tree[2 * node]), depth(tree, tree[2 * node + 1]));
}

extern "C" __global__ void depths(const int* tree, int* out) {
    out[threadIdx.x] = depth(tree, threadIdx.x);
}

extern "C" __global__ void scale(float* data, float by) {
    data[threadIdx.x] *= by;
}
