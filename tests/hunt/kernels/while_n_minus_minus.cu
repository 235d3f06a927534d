// launch: n = 0, 1, 5, 12; m = 0, 3
// the parameter itself counts down, and is -1 afterwards
extern "C" __global__ void while_n_minus_minus(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) a[order[t + i] % 12] *= 2.0f;
    float s = 0.0f;
    while (n--) s = s * 0.5f + a[n];
    out[t] = s + n;
}
