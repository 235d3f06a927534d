// launch: n = 0, 1, 5; m = 0, 3
// the name in the body is not the one of the header
extern "C" __global__ void walk_from_shadowed_start(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[16];
    for (int i = 0; i < 16; ++i) w[i] = in[t * 16 + i];
    float s = 0.0f;
    const int r = n;
    for (int i = -r; i <= r; ++i) {
        const int r = (order[t] & 3) + 6;
        s = s * 0.5f + w[i + r];
        w[i + r] += 1.0f;
    }
    out[t] = s + w[order[t] & 7 + (int)m];
}
