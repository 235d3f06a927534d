// Functions that are called through pointers, and the same by name.

typedef float (*Filter)(const float *, int);

__device__ __noinline__ float mean(const float *in, int n) { //~ call_frame
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += in[k];
    return sum / n;
}

// Its own array lies in its own frame, beside the registers that it saves.
__device__ __noinline__ float mode(const float *in, int n) { //~ call_frame
    float bin[8]; //~ dynamic_index
    for (int k = 0; k < 8; ++k) bin[k] = 0.0f;
    for (int k = 0; k < n; ++k) bin[static_cast<int>(in[k]) & 7] += 1.0f;
    float best = 0.0f;
    for (int k = 0; k < 8; ++k) best = fmaxf(best, bin[k]);
    return best;
}

__constant__ Filter filters[2] = {mean, mode};

// ptxas reports no local memory for this kernel: the functions' frames come on top.
extern "C" __global__ void filter_by_table(const float *in, float *out, int n, int which) {
    out[threadIdx.x] = filters[which](in + threadIdx.x * n, n);
}

// A pointer that the host passes.
extern "C" __global__ void filter_by_pointer(const float *in, float *out, int n, Filter filter) {
    out[threadIdx.x] = filter(in + threadIdx.x * n, n);
}

__device__ __noinline__ float largest(const float *in, int n) {
    float best = in[0];
    for (int k = 1; k < n; ++k) best = fmaxf(best, in[k]);
    return best;
}

__device__ __noinline__ float smallest(const float *in, int n) {
    float best = in[0];
    for (int k = 1; k < n; ++k) best = fminf(best, in[k]);
    return best;
}

// Called by name, in a `switch`: ptxas knows all callers, though the functions are not inlined either.
extern "C" __global__ void filter_by_switch(const float *in, float *out, int n, int which) {
    const float *own = in + threadIdx.x * n;
    switch (which) {
    case 0: out[threadIdx.x] = largest(own, n); break;
    default: out[threadIdx.x] = smallest(own, n); break;
    }
}
