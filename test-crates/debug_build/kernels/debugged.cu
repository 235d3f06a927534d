extern "C" __global__ void scale_debugged(const float *in, float *out, int n) { //~ debug_build
    float pair[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    pair[0] = in[2 * i];
    pair[1] = in[2 * i + 1];
    out[i] = pair[0] * pair[1];
}
