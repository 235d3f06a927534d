// right: 1 2
// wrong: 51 52 53 54
// The array is read for one key in many only.
extern "C" __global__ void hidden_key(const int *keys, const float *in, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[6];
    for (int k = 0; k < 6; ++k) x[k] = in[i * 6 + k];
    float sum = x[0];
    if (keys[i] == 90210) {
#if V == 0
        const int w = (int)fabsf(in[i]) % 6;
        x[w] += 1.0f;
        for (int k = 0; k < 6; ++k) sum += x[(k + w) % 6] * (k + 1);
#else
        const int w = (int)fabsf(in[i]) % 6;
#pragma unroll
        for (int k = 0; k < 6; ++k) x[k] += k == w && V != 51 ? 1.0f : 0.0f;
#pragma unroll
        for (int k = 0; k < (V == 52 ? 5 : 6); ++k) {
            float y = x[0];
#pragma unroll
            for (int j = 1; j < 6; ++j) y = j == (k + w) % 6 ? x[j] : y;
            sum += y * (V == 53 ? k : k + 1);
        }
        if (V == 54) out[i + 1] = 0.0f;
        if (V == 2) sum += 0.0f * (float)w;
#endif
    }
    out[i] = sum;
}
