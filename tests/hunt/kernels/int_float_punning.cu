// launch: n = 0, 1, 8; m = 0, 3
// one union, three views
union Cell { float f[8]; int i[8]; unsigned char b[32]; };
extern "C" __global__ void int_float_punning(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell c;
    for (int k = 0; k < 8; ++k) c.f[k] = in[t * 8 + k];
    for (int k = 0; k < n; ++k) {
        c.i[order[t * 8 + k] & 7] ^= 0x00400000;
        c.b[order[t * 8 + k + 1] & 30] += k;
    }
    float s = 0.0f;
    for (int k = 0; k < 8; ++k) s = s * 0.5f + c.f[k];
    out[t] = s;
}
