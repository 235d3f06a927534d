// launch: n = 1, 5, 21; m = 0, 3
// reads of one round see writes of the same round
extern "C" __global__ void ring_read_write_mix(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[13];
    for (int j = 0; j < 13; ++j) w[j] = in[t * 32 + j];
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < 13; ++j) {
            w[(j + i) % 13] = w[(j + i + 1) % 13] * 0.5f + w[j];
        }
    }
    float s = 0.0f;
    for (int j = 0; j < 13; ++j) s = s * 0.5f + w[j];
    out[t] = s;
}
