// launch: n = 8, 9, 13; m = 0, 3
// a plain sum over the ring: storage order adds in another order
extern "C" __global__ void ring_sum_rounding(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    for (int i = 0; i < n; ++i) w[i % 8] = in[t * 16 + i] * (i == 5 ? 1e6f : 1.0f);
    float s = 0.0f;
    for (int j = 0; j < 8; ++j) s += w[(j + n) % 8];
    out[t] = s;
}
