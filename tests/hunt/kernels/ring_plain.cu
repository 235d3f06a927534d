// launch: n = 8, 16, 40; m = 0, 3
// control: classic ring of the last eight
extern "C" __global__ void ring_plain(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    for (int i = 0; i < 8; ++i) w[i] = in[t * 40 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        float sum = 0.0f;
        for (int j = 0; j < 8; ++j) sum = sum * 0.5f + w[(j + i) % 8];
        s = s * 0.5f + sum;
        w[i % 8] = in[t * 40 + i] + 1.0f;
    }
    out[t] = s;
}
