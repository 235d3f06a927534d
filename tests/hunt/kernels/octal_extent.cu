// launch: n = 0, 5, 12; m = 0, 3
// 014 is 12, 1'6 is 16, 0b1'0100 is 20
extern "C" __global__ void octal_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[014], b[1'6], c[0b1'0100];
    for (int i = 0; i < n; ++i) { a[i] = in[t * 12 + i]; b[i + 010 - 4] = a[i]; c[i + '\b'] = -a[i]; }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i] + b[4 + order[t + i] % n] + c[0x8 + n - 1 - i];
    out[t] = s;
}
