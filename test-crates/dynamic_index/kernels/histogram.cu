// Counters in each thread, addressed by what is read.

// The bin differs from thread to thread.
extern "C" __global__ void histogram_local(const unsigned char *in, unsigned *out, int n) {
    unsigned count[16]; //~ dynamic_index
#pragma unroll
    for (int b = 0; b < 16; ++b) count[b] = 0;
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        count[in[i] >> 4]++;
    }
#pragma unroll
    for (int b = 0; b < 16; ++b) atomicAdd(&out[b], count[b]);
}

// One column of shared memory for each thread instead.
extern "C" __global__ void __launch_bounds__(256) histogram_shared(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned count[16][256];
#pragma unroll
    for (int b = 0; b < 16; ++b) count[b][threadIdx.x] = 0;
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        count[in[i] >> 4][threadIdx.x]++;
    }
#pragma unroll
    for (int b = 0; b < 16; ++b) atomicAdd(&out[b], count[b][threadIdx.x]);
}

// An unrolled update that compares instead of indexing.
extern "C" __global__ void histogram_predicated(const unsigned char *in, unsigned *out, int n) {
    unsigned count[16];
#pragma unroll
    for (int b = 0; b < 16; ++b) count[b] = 0;
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        int bin = in[i] >> 4;
#pragma unroll
        for (int b = 0; b < 16; ++b) count[b] += b == bin ? 1 : 0;
    }
#pragma unroll
    for (int b = 0; b < 16; ++b) atomicAdd(&out[b], count[b]);
}

// A single read at the end: ptxas makes it a chain of selects by itself.
extern "C" __global__ void one_read(const float *in, float *out, int n, int which) {
    float value[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int k = 0; k < 8; ++k) value[k] = in[k * n + i] * 2.0f;
    out[i] = value[which & 7];
}
