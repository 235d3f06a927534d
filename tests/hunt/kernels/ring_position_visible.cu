// launch: n = 0, 5, 12, 21; m = 0, 3
// the position in the ring is part of the result (weight by the slot), and the order of the sum matters
extern "C" __global__ void ring_position_visible(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[20] = {};
    for (int i = 0; i < n; ++i) w[i % 20] = in[t * 24 + i];
    float s = 0.0f;
    for (int j = 0; j < 20; ++j) {
        const int k = (j + n) % 20;
        w[(order[t + j] + n) % 20] += 0.0625f;
        s = s * 0.75f + w[k] * (float)(k + 1) - (float)j;
        if (w[k] > 0.7f) break;
    }
    int best = 0;
    for (int j = 1; j < 20; ++j) if (w[(j + n) % 20] > w[best]) best = (j + n) % 20;
    out[t] = s + 32.0f * best;
}
