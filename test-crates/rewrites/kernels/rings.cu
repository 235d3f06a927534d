// Loops over all elements of a ring, from some element on.

extern "C" __global__ void loudest(const float *in, float *out, int n) {
    float ring[32]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 32; ++k) ring[k] = in[k * 256 + threadIdx.x];
    float level = 0.0f;
    for (int t = 0; t < n; ++t) {
        float high = 0.0f;
        for (int j = 0; j < 32; ++j) high = fmaxf(high, level * ring[(t + j) % 32]);
        level = fmaxf(0.9f * level, in[t] + 0.1f * high);
    }
    out[threadIdx.x] = level;
}

extern "C" __global__ void power(const float *in, float *out, int n) {
    float ring[16] = {}; //~ dynamic_index
    int head = 0;
    for (int t = 0; t < n; ++t) {
        ring[head] = in[t * 256 + threadIdx.x];
        float sum = 0.0f;
        for (int j = 0; j < 16; ++j) {
            const int slot = (head - j) & 15;
            sum = fmaf(ring[slot], ring[slot], sum);
        }
        out[t * 256 + threadIdx.x] = sum;
        head = (head + 1) & 15;
    }
}

// The counter has another use: the weights would have to be loaded in every round.
extern "C" __global__ void weighted(const float *in, const float *weight, float *out, int n) {
    float ring[16]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 16; ++k) ring[k] = in[k * 256 + threadIdx.x];
    for (int t = 0; t < n; ++t) {
        float sum = 0.0f;
        for (int j = 0; j < 16; ++j) sum += weight[j] * ring[(t + j) % 16];
        out[t * 256 + threadIdx.x] = sum;
    }
}
