// The build makes PTX: the driver is not told of the limit, with which this would spill. //~ ineffective_option
extern "C" __global__ void to_ptx(const float *in, float *out, int rounds) {
    float value[40];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 40; ++k) value[k] = in[k * 4096 + i];
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 40; ++k) value[k] = fmaf(value[k], value[(k + 7) % 40], value[(k * 3 + 1) % 40]);
    }
#pragma unroll
    for (int k = 0; k < 40; ++k) out[k * 4096 + i] = value[k];
}
