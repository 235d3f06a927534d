// launch: n = 1, 5, 21; m = 0, 3
// walks seven of eight slots, and one slot twice
extern "C" __global__ void ring_partial_cover(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[8];
    for (int j = 0; j < 8; ++j) w[j] = in[t * 8 + j];
    float s = 0.0f;
    for (int j = 0; j < 7; ++j) s += w[(j + n) % 8] * (j == 3 ? 2.0f : 1.0f);
    for (int j = 0; j < 8; ++j) s += w[(2 * j + n) % 8];
    for (int j = 0; j < 9; ++j) { s = s * 0.5f + w[(j + n) & 7]; w[(j + n) & 7] = 0.0f; }
    out[t] = s;
}
