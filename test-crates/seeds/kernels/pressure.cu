// A pipeline that holds many values at a time, under a bound that leaves too few registers.

template <int Stages>
__device__ __forceinline__ float pipeline(const float *in, int i, int n) {
    float feature[Stages], weight[Stages], bias[Stages];
#pragma unroll
    for (int k = 0; k < Stages; ++k) {
        feature[k] = in[k * n + i];
        weight[k] = in[(k + Stages) * n + i];
        bias[k] = feature[k] * weight[k] + 5.0f;
    }
    for (int round = 0; round < n; ++round) {
#pragma unroll
        for (int k = 0; k < Stages; ++k) {
            bias[k] = __sinf(bias[(k + 1) % Stages] * weight[k]) + feature[k];
            weight[k] = __cosf(weight[(k + 3) % Stages] + bias[k]);
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Stages; ++k) sum += feature[k] + weight[k] + bias[k];
    return sum;
}

__global__ void __launch_bounds__(256, 4) activations_spilled(const float *in, float *out, int n) { //~ register_spill
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = pipeline<24>(in, i, n);
}

__global__ void __launch_bounds__(256) activations(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = pipeline<24>(in, i, n);
}

// With the pragma ptxas spills to shared memory instead.
__global__ void __launch_bounds__(256, 4) activations_in_shared(const float *in, float *out, int n) {
    asm volatile(".pragma \"enable_smem_spilling\";");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = pipeline<24>(in, i, n);
}
