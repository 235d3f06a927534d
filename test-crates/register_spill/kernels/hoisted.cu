// Loads that stand in a loop and do not depend on it are made before it: each takes a register from there on.
__global__ void __launch_bounds__(256, 5) weighted(const float *__restrict__ in, const float *__restrict__ weight, //~ register_spill
                                                   float *__restrict__ out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; ++i) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < 56; ++k) sum = fmaf(in[i * 56 + k], weight[k * 4096 + t], sum);
        out[i * 4096 + t] = sum;
    }
}
