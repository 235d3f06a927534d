// launch: n = 1, 2, 5, 12; m = 0, 3
// n - 1 in unsigned arithmetic; n = 0 is handled by the return
extern "C" __global__ void counter_unsigned_minus_one(const float* in, const int* order, float* out, int n, unsigned m)
{
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned count = n;
    float a[12];
    for (unsigned i = 0; i < count; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (unsigned i = 0; i < count - 1; ++i) s = s * 0.5f + (a[i + 1] - a[i]);
    for (unsigned i = count - 1; i < count; --i) s = s * 0.5f + a[i];
    out[t] = s;
}
