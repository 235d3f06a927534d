// Too large for registers.

__global__ void sine_table(float *out, int n) {
    float big[256]; //~ large_array
    for (int k = 0; k < 256; ++k) {
        big[k] = sinf(static_cast<float>(k + n)); //~ slow_path_math
    }
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += big[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Nobody reads the array, so there is none.
__global__ void sine_table_unused() {
    float big[256]; //~ nvcc::550-D
    for (int k = 0; k < 256; ++k) {
        big[k] = sinf(static_cast<float>(k));
    }
}
