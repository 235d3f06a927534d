// launch: n = 1, 2, 9, 10; m = 0, 1
// two arrays in one loop, of which the second ends first: its extent bounds both
extern "C" __global__ void ctl_guard_two_arrays(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[14], c[10];
    a[0] = in[t * 14]; c[0] = 1.0f + m;
    for (int i = 1; i < n; ++i) {
        const float x = a[i - 1] + c[i - 1];
        a[i] = x * in[t * 14 + i];
        c[i] = x - a[i];
    }
    float s = 0.0f;
    for (int i = 0; i + 1 < n; ++i) s += a[i] * c[i + 1] + a[i + 1] * c[i];
    out[t] = s;
}
