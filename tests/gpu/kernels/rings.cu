// Rings whose elements are visited from some element on: the sums are taken in another order.

extern "C" __global__ void turned_ring(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ring[32];
#pragma unroll
    for (int t = 0; t < 32; ++t) ring[t] = x[t * n + i];
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        float high = 0.0f;
        for (int j = 0; j < 32; ++j) high = fmaxf(high, y * ring[(r + j) % 32]);
        y = fmaxf(0.9f * y, x[r * n + i] + 0.1f * high);
    }
    out[i] = y;
}

extern "C" __global__ void power_of_ring(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ring[16] = {};
    int head = 0;
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        ring[head] = x[r * n + i];
        float sum = 0.0f;
        for (int j = 0; j < 16; ++j) {
            const int slot = (head - j) & 15;
            sum = fmaf(ring[slot], ring[slot], sum);
        }
        y = fmaxf(0.9f * y, sum);
        head = (head + 1) & 15;
    }
    out[i] = y;
}
