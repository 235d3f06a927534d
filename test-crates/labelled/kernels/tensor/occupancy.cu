// Kernels that were promised fewer registers than they need.

// Many values alive at once, and a block of 1,024.
__global__ void __launch_bounds__(1024) spectral_features(const float *__restrict__ signal, float *__restrict__ feature, int n) //@ spills
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float band[80];
#pragma unroll
    for (int b = 0; b < 80; ++b) band[b] = signal[b * n + i];
    float energy = 0.0f;
#pragma unroll
    for (int b = 0; b < 80; ++b) energy += band[b] * band[79 - b];
#pragma unroll
    for (int b = 0; b < 80; ++b) feature[b * n + i] = band[b] / energy;
}

// Accumulators of a 16 by 16 tile in one thread.
__global__ void __launch_bounds__(256) outer_products(const float4 *__restrict__ a, const float4 *__restrict__ b, float *__restrict__ c, int k) //@ spills
{
    float tile[16][16];
#pragma unroll
    for (int r = 0; r < 16; ++r)
#pragma unroll
        for (int s = 0; s < 16; ++s) tile[r][s] = 0.0f;
    for (int step = 0; step < k; ++step) {
        float left[16], right[16];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const float4 l = a[(step * 4 + q) * 256 + threadIdx.x], r = b[(step * 4 + q) * 256 + threadIdx.x];
            left[4 * q] = l.x, left[4 * q + 1] = l.y, left[4 * q + 2] = l.z, left[4 * q + 3] = l.w;
            right[4 * q] = r.x, right[4 * q + 1] = r.y, right[4 * q + 2] = r.z, right[4 * q + 3] = r.w;
        }
#pragma unroll
        for (int r = 0; r < 16; ++r)
#pragma unroll
            for (int s = 0; s < 16; ++s) tile[r][s] += left[r] * right[s];
    }
#pragma unroll
    for (int r = 0; r < 16; ++r)
#pragma unroll
        for (int s = 0; s < 16; ++s) c[(r * 16 + s) * 256 + threadIdx.x] = tile[r][s];
}

// Five blocks of 256 were wanted; a polynomial of 60 coefficients stays alive through the loop.
__global__ void __launch_bounds__(256, 5) chebyshev_series(const double *__restrict__ coefficient, double *__restrict__ x, int n, int rounds) //@ spills
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double c[40];
#pragma unroll
    for (int k = 0; k < 40; ++k) c[k] = coefficient[k * n + i];
    double value = x[i];
    for (int round = 0; round < rounds; ++round) {
        double b1 = 0.0, b2 = 0.0;
#pragma unroll
        for (int k = 39; k > 0; --k) {
            const double b = 2.0 * value * b1 - b2 + c[k];
            b2 = b1;
            b1 = b;
        }
        value = value * b1 - b2 + c[0];
    }
    x[i] = value;
}

// A limit in the attribute of the newer kind; beside the spills, an array with an index from data.
__global__ void __maxnreg__(40) weighted_votes(const float *__restrict__ feature, const int *__restrict__ label, float *__restrict__ out, int n, int rounds) //@ spills
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float weight[48];
    float tally[16]; //@ object tally: dynamic_index
#pragma unroll
    for (int c = 0; c < 16; ++c) tally[c] = 0.0f;
#pragma unroll
    for (int f = 0; f < 48; ++f) weight[f] = feature[f * n + i];
    for (int r = 0; r < rounds; ++r) {
        float score = 0.0f;
#pragma unroll
        for (int f = 0; f < 48; ++f) score = fmaf(weight[f], weight[(f * 7 + 3) % 48], score) * 1.01f;
        tally[label[r * n + i] & 15] += score; //@ access tally
    }
#pragma unroll
    for (int f = 0; f < 48; ++f) out[f * n + i] = weight[f];
#pragma unroll
    for (int c = 0; c < 16; ++c) out[(48 + c) * n + i] = tally[c];
}

// The same bound on a kernel that can live with it.
__global__ void __launch_bounds__(1024) light_features(const float *__restrict__ signal, float *__restrict__ feature, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float band[24];
#pragma unroll
    for (int b = 0; b < 24; ++b) band[b] = signal[b * n + i];
    float energy = 0.0f;
#pragma unroll
    for (int b = 0; b < 24; ++b) energy += band[b] * band[23 - b];
#pragma unroll
    for (int b = 0; b < 24; ++b) feature[b * n + i] = band[b] / energy;
}
