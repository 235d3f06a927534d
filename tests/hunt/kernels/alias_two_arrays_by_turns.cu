// launch: n = 0, 1, 4, 9; m = 0, 3
// ping-pong between two arrays; which one is last depends on n
extern "C" __global__ void alias_two_arrays_by_turns(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[10], b[10] = {};
    for (int i = 0; i < 10; ++i) a[i] = in[t * 10 + i];
    float *src = a, *dst = b;
    for (int r = 0; r < n; ++r) {
        for (int i = 0; i < 10; ++i) dst[i] = src[(i + order[t + r]) % 10] * 0.5f + dst[9 - i];
        float* x = src; src = dst; dst = x;
    }
    float s = 0.0f;
    for (int i = 0; i < 10; ++i) s = s * 0.5f + src[i] - dst[i];
    out[t] = s;
}
