// The file is compiled with -maxrregcount=32, which some of its kernels have no use for.

template <int Count> __device__ float mixed(const float *in, int n, int i) {
    float value[Count];
#pragma unroll
    for (int k = 0; k < Count; ++k) value[k] = in[k * n + i];
#pragma unroll
    for (int k = 0; k < Count; ++k) value[k] += value[(k * 7 + 3) % Count] * value[(k * 5 + 1) % Count];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Count; ++k) sum = sum * value[k] + value[Count - 1 - k];
    return sum;
}

extern "C" __global__ void many(const float *in, float *out, int n) { //~ register_spill
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mixed<40>(in, n, i);
}

extern "C" __global__ void few(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mixed<8>(in, n, i);
}

// A limit of its own counts in place of the flag.
extern "C" __global__ void __maxnreg__(64) limited(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mixed<40>(in, n, i);
}
