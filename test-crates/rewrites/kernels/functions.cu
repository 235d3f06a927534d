// Arrays of functions that are inlined.

__device__ int distinct(const int *in, int n) {
    unsigned char seen[40]; //~ dynamic_index
    for (int c = 0; c < 40; ++c) seen[c] = 0;
    int count = 0;
    for (int t = 0; t < n; ++t) {
        const int value = in[t * 256 + threadIdx.x];
        if (!seen[value]) ++count;
        seen[value] = 1;
    }
    return count;
}

extern "C" __global__ void distinct_values(const int *in, int *out, int n) { out[threadIdx.x] = distinct(in, n); }

// The host may call it as well, which has no shared memory.
__host__ __device__ int distinct_anywhere(const int *in, int n, int thread) {
    unsigned char seen[48]; //~ dynamic_index
    for (int c = 0; c < 48; ++c) seen[c] = 0;
    int count = 0;
    for (int t = 0; t < n; ++t) {
        const int value = in[t * 256 + thread];
        if (!seen[value]) ++count;
        seen[value] = 1;
    }
    return count;
}

extern "C" __global__ void distinct_of_host(const int *in, int *out, int n) {
    out[threadIdx.x] = distinct_anywhere(in, n, threadIdx.x);
}

// A counter that is declared before its loops.
extern "C" __global__ void rows(const float *in, float *out, int used) {
    float row[12]; //~ rolled_loop
    int k;
    for (k = 0; k < used; k++) row[k] = in[k * 256 + threadIdx.x];
    float mean = 0.0f;
    for (k = 0; k < used; k++) mean += row[k];
    mean /= used;
    float sum = 0.0f;
    for (k = 0; k < used; k++) sum += (row[k] - mean) * (row[k] - mean);
    out[threadIdx.x] = sum;
}
