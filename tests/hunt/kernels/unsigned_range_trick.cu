// launch: n = 0, 1, 5, 12; m = 0, 3
extern "C" __global__ void unsigned_range_trick(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[9];
    for (int i = 0; i < 9; ++i) a[i] = in[t * 9 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 12 + i] % 21 - 6;
        s = s * 0.5f + ((unsigned)k < 9u ? a[k] : (float)k);
        if ((unsigned)(k - 3) < 6u) a[k - 3] += 1.0f;
    }
    for (int i = 0; i < 9; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
