// The flag limits one of the two.

__global__ void __launch_bounds__(256) scale(float *values, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= factor;
}

__global__ void offset(float *values, float term, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += term;
}
