// Loops that should stay loops.

__global__ void polynomial(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], sum = 0.0f;
#pragma nounroll //~ ineffective_option
    for (int k = 0; k < 32; ++k) sum = sum * x + in[(i + k * 7) % n];
    out[i] = sum;
}

// nvcc knows this one.
__global__ void polynomial_rolled(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) sum = sum * x + in[(i + k * 7) % n];
    out[i] = sum;
}

// On the host the pragma is another compiler's affair.
void fill(float *values, int n) {
#pragma nounroll
    for (int i = 0; i < n; ++i) values[i] = 1.0f;
}

// Other pragmas that are skipped are told by the compiler itself.
__global__ void parallel(float *values, int n) {
#pragma unroll_and_jam 2 //~ nvcc::20199-D
    for (int i = 0; i < n; ++i) values[i] += 1.0f;
}

// lmem: allow(ineffective_option, reason = "shared with another compiler, which knows it")
__global__ void portable(float *values, int n) {
#pragma nounroll
    for (int i = 0; i < 8; ++i) values[i * n] += 1.0f;
}
