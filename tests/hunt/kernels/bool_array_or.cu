// launch: n = 0, 5, 12; m = 0, 3
// bool elements: |= 2 gives true, that is 1
extern "C" __global__ void bool_array_or(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool f[20] = {};
    for (int i = 0; i < n; ++i) { f[order[t * 12 + i] % 20] |= 2; f[order[t * 12 + i + 1] % 20] ^= i; }
    int s = 0;
    for (int i = 0; i < 20; ++i) s = (s * 3 + f[i]) & 0xfffff;
    out[t] = (float)s;
}
