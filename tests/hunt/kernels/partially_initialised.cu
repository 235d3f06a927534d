// launch: n = 0, 5, 12; m = 0, 3
// three initialisers for twelve elements: the rest is zero
extern "C" __global__ void partially_initialised(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        float a[12] = { in[t], 1.0f, (float)round };
        for (int i = 0; i < n; ++i) a[order[t * 12 + i] % 12] += in[t * 12 + i];
        float s = 0.0f;
        for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
        out[2 * t + round] = s;
    }
}
