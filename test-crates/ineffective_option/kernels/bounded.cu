// Every kernel has a bound of its own: the flag for this file limits none. //~ ineffective_option

__global__ void __launch_bounds__(256) scale(float *values, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= factor;
}

__global__ void __maxnreg__(64) offset(float *values, float term, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += term;
}
