// One small array, indexed in four ways.

// Constants: five registers.
__global__ void static_indices(const float *in, float *out) {
    float a[5];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[0] = in[i];
    a[1] = in[i + 32];
    a[2] = in[i + 64];
    a[3] = in[i + 96];
    a[4] = in[i + 128];
    out[i] = a[0] + a[1] * a[4] - a[2] * a[3];
}

// A loop that is unrolled: constants again.
__global__ void unrolled_indices(const float *in, float *out) {
    float a[5];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 5; ++k) a[k] = in[i + 32 * k];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 5; ++k) sum += a[k];
    out[i] = sum;
}

// An index that all threads share: local memory, though every access is coalesced.
__global__ void uniform_index(const float *in, const int *order, float *out, int rounds) {
    float a[32]; //~ dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; ++k) a[k] = in[i + 32 * k];
    for (int round = 0; round < rounds; ++round) {
        int k = order[round];
        a[k] = a[k] * 0.5f + 1.0f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += a[k];
    out[i] = sum;
}

// An index of each thread's own: a transfer for each different address.
__global__ void index_per_thread(const float *in, const int *order, float *out, int rounds) {
    float a[32]; //~ dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; ++k) a[k] = in[i + 32 * k];
    for (int round = 0; round < rounds; ++round) {
        int k = order[round * 32 + threadIdx.x];
        a[k] = a[k] * 0.5f + 1.0f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += a[k];
    out[i] = sum;
}

// Shared memory, one column for each thread: any index, no conflicts.
__global__ void __launch_bounds__(64) index_in_shared(const float *in, const int *order, float *out, int rounds) {
    __shared__ float a[32][64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; ++k) a[k][threadIdx.x] = in[i + 32 * k];
    for (int round = 0; round < rounds; ++round) {
        int k = order[round * 32 + threadIdx.x];
        a[k][threadIdx.x] = a[k][threadIdx.x] * 0.5f + 1.0f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += a[k][threadIdx.x];
    out[i] = sum;
}
