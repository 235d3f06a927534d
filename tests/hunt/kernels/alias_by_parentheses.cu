// launch: n = 0, 1, 7; m = 0, 3
// the name stands in parentheses
extern "C" __global__ void alias_by_parentheses(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[6];
    for (int i = 0; i < 6; ++i) a[i] = in[t * 6 + i];
    const int at = order[t] % 6;
    float (&r) = a[at];
    for (int i = 0; i < n; ++i) a[order[t + i] % 6] += 1.0f + r;
    float s = r;
    for (int i = 0; i < 6; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
