extern "C" __global__ void misspelt(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = scael * in[i]; //~ nvcc
}
