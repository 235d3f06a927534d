// launch: n = 0, 2, 6, 12; m = 0, 3
// != with step 2: the guard `i != n` would be true again behind n
extern "C" __global__ void not_equal_step_two(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i != n; i += 2) {
        a[i] = in[t * 12 + i];
        a[i + 1] = -in[t * 12 + i + 1] * 3.0f;
    }
    float s = 1.0f;
    for (int i = 0; i != n; ++i) s = s * 0.5f + a[i];
    for (int i = n; i != 0; --i) s = s * 0.5f + a[i - 1];
    out[t] = s;
}
