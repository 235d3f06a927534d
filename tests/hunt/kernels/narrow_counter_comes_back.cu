// launch: n = 3, 8, 300; m = 40, 90
// the counter wraps around, and its next rounds visit the same elements again
extern "C" __global__ void narrow_counter_comes_back(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {};
    for (unsigned char i = 0; i < n; ++i) {
        if (i >= 8) continue;
        a[i] += fabsf(in[t * 8 + i]) + 1.0f;
        if (a[i] > m || n < 256 && i + 1 >= n) break;
    }
    float s = 0.0f;
    for (int i = 0; i < 8 && a[i] > 0.0f; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
