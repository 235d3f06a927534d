// launch: n = 12, 9, 3; m = 0, 3
// the counter is a byte: starting at 250 it wraps to 0 before it reaches n
extern "C" __global__ void narrow_counter_wraps(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (unsigned char i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (unsigned char i = 250; i != n; ++i) s = s * 0.5f + a[i % 12 < n ? i % 12 : 0];
    for (signed char i = (signed char)(n - 1); i >= 0; --i) s = s * 0.5f + a[i];
    out[t] = s;
}
