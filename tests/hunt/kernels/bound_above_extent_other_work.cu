// launch: n = 0, 5, 12, 40; m = 0, 3
// the loop runs past the array, which is only touched in its first eight rounds
extern "C" __global__ void bound_above_extent_other_work(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {};
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 40 + i];
        if (i < 8) a[i] = x;
        a[order[t * 40 + i] % 8] += x;
    }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s = s * 0.5f + 1.0f;
        if (i >= 8) continue;
        s += a[i];
    }
    out[t] = s;
}
