// launch: n = 16, 33; m = 0, 3
// control
extern "C" __global__ void ctl_ring_and_mask(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w[16];
    for (int j = 0; j < 16; ++j) w[j] = order[t * 48 + j];
    for (int i = 0; i < n; ++i) w[i & 15] += w[(i + 9) & 15] ^ w[(i + 14) & 15];
    unsigned x = 0;
    for (int j = 0; j < 16; ++j) x ^= w[(j + n) & 15];
    out[t] = (float)(x & 0xffffff);
}
