// launch: n = 0, 1, 7, 12; m = 0, 3
// the shorter array is not accessed in every round, so that its extent is no bound of the loop
extern "C" __global__ void guard_two_extents(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], c[9];
    for (int i = 0; i < 9; ++i) c[i] = 0.5f;
    a[0] = in[t * 12];
    for (int i = 1; i < n; ++i) {
        a[i] = in[t * 12 + i] + 0.5f * a[i - 1];
        if (i < 9 && order[t + i] % 3) c[i] = a[i] - c[i - 1];
    }
    float s = 0.0f;
    for (int i = n - 1; i >= 0; --i) s = s * 0.75f + a[i];
    for (int i = 0; i < 9; ++i) s += c[i] * (i + m);
    out[t] = s;
}
