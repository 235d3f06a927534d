// Register pressure, in different ways.

// A stencil that keeps five planes of four columns, for four blocks of 512.
template <int Order>
__global__ void __launch_bounds__(512, 4) wave_equation(const float *__restrict__ p, float *__restrict__ next, int pitch, int depth) //@ spills
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float plane[2 * Order + 1][4];
#pragma unroll
    for (int z = 0; z <= 2 * Order; ++z)
#pragma unroll
        for (int c = 0; c < 4; ++c) plane[z][c] = p[(z * 4 + c) * pitch + i];
    for (int z = 2 * Order + 1; z < depth; ++z) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            float sum = plane[Order][c] * plane[0][3 - c];
#pragma unroll
            for (int o = 1; o <= Order; ++o) sum += (plane[Order - o][c] + plane[Order + o][c]) * (1.0f / o);
            next[(z * 4 + c) * pitch + i] = sum;
        }
#pragma unroll
        for (int k = 0; k < 2 * Order; ++k)
#pragma unroll
            for (int c = 0; c < 4; ++c) plane[k][c] = plane[k + 1][c];
#pragma unroll
        for (int c = 0; c < 4; ++c) plane[2 * Order][c] = p[(z * 4 + c) * pitch + i];
    }
}

template __global__ void wave_equation<4>(const float *, float *, int, int);

// No bound at all, and still more than 255 registers.
__global__ void seventeen_moments(const double *__restrict__ x, double *__restrict__ out, int n, int rounds) //@ spills
{
    double m[136];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 136; ++k) m[k] = 0.0;
    for (int r = 0; r < rounds; ++r) {
        double v[16];
#pragma unroll
        for (int k = 0; k < 16; ++k) v[k] = x[(r * 16 + k) * n + i];
        int at = 0;
#pragma unroll
        for (int a = 0; a < 16; ++a)
#pragma unroll
            for (int b = a; b < 16; ++b) m[at++] += v[a] * v[b];
    }
#pragma unroll
    for (int k = 0; k < 136; ++k) out[k * n + i] = m[k];
}

// Under pressure, but a third of the values can be computed again.
__global__ void __launch_bounds__(256, 2) heat_kernels(const float *__restrict__ in, float *__restrict__ out, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float kernel[60];
#pragma unroll
    for (int k = 0; k < 60; ++k) kernel[k] = __expf(-0.01f * k * in[i]);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 60; ++k) sum += kernel[k] * in[k * n + i];
#pragma unroll
    for (int k = 0; k < 60; ++k) out[k * n + i] = kernel[k] / sum;
}
