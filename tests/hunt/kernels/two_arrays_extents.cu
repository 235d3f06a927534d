// launch: n = 0, 3, 6, 12; m = 0, 3
// one loop, two arrays: twelve and six elements; the smaller one is touched in the first rounds only
extern "C" __global__ void two_arrays_extents(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], b[6] = {};
    for (int i = 0; i < n; ++i) { a[i] = in[t * 12 + i]; if (i < 6) b[i] = a[i] * 2.0f; }
    for (int i = 0; i < n; ++i) b[order[t + i] % 6] += a[i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + (i & 1 ? b[i >> 1] : a[i]);
    out[t] = s;
}
