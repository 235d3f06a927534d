// launch: n = 0, 1, 5, 12; m = 0, 3
// with n = 0 the bound n - 1u is 4294967295: the loop is left through the break before it leaves the array
extern "C" __global__ void unsigned_wrap_early_exit(const float* in, const int* order, float* out, int n, unsigned m)
{
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned count = n;
    float a[12];
    for (unsigned i = 0; i < 12; ++i) a[i] = i < count ? in[t * 12 + i] : 2.0f;
    for (unsigned i = 0; i < count; ++i) a[order[t + i] % 12] *= 0.5f;
    a[11] = 2.0f;
    float s = 0.0f;
    unsigned i;
    for (i = 0; i < count - 1u; ++i) {
        if (a[i] >= 2.0f) break;
        s = s * 0.5f + a[i];
    }
    out[t] = s + 10.0f * i;
}
