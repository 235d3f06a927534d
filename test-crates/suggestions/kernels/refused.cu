// A suggestion that does not help is not shown: unrolled, the values would not fit into the registers that the bounds
// leave, and would be spilled.
extern "C" __global__ void __launch_bounds__(1024, 1) too_many_values(const float *in, float *out) {
    float value[60]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 60; ++k) {
        value[k] = in[i * k];
        sum += value[k];
    }
#pragma unroll 1
    for (int k = 0; k < 60; ++k) out[i * k] = value[k] / sum;
}
