// launch: n = 1, 4, 12; m = 0, 3
extern "C" __global__ void comma_in_condition(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], x = 0.0f;
    int reads = 0;
    for (int i = 0; ++reads, i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; x = i < n ? a[i] : 9.0f, x < 0.7f; ++i) s = s * 0.5f + x;
    out[2 * t] = s;
    out[2 * t + 1] = x + reads;
}
