// Rings whose elements are visited from some element on: the sums are taken in another order.

extern "C" __global__ void turned_ring(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ring[16];
#pragma unroll
    for (int t = 0; t < 16; ++t) ring[t] = x[t * n + i];
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        float sum = 0.0f;
        for (int j = 0; j < 16; ++j) sum += x[j] * ring[(r + j) % 16];
        y = fmaxf(0.9f * y, sum);
    }
    out[i] = y;
}

extern "C" __global__ void delay_ring(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ring[32] = {};
    int head = 0;
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        ring[head] = x[r * n + i];
        float sum = 0.0f;
        for (int j = 0; j < 32; ++j) {
            const int slot = (head - j) & 31;
            sum = fmaf(x[j], ring[slot], sum);
        }
        y = fmaxf(0.9f * y, sum);
        head = (head + 1) & 31;
    }
    out[i] = y;
}
