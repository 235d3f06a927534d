// launch: n = 3, 4; m = 0, 3
// a product of unsigned numbers wraps around to the first elements
extern "C" __global__ void groups_wrap_around(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float keep[8];
    for (int i = 0; i < 8; ++i) keep[i] = in[t * 8 + i];
    float s = 0.0f;
    for (unsigned g = 0x3ffffffeu; g < 0x40000000u + (unsigned)n - 2u; ++g) {
        if (g < 0x40000000u) continue;
        s = s * 0.5f + keep[g * 4u + 1u];
        keep[g * 4u + 1u] += s;
    }
    out[t] = s + keep[order[t] & 7] * (float)m;
}
