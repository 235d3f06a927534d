// launch: n = 0, 1, 5, 12; m = 0, 3
// the extent is in a typedef; pointers to the whole array and a pair of arrays
typedef float Row[12];
extern "C" __global__ void typedef_array_type(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Row a, pair[2] = {}, *p = &a;
    for (int i = 0; i < n; ++i) (*p)[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) pair[order[t + i] & 1][order[t + i + 1] % 12] += a[i];
    p = pair + (order[t] & 1);
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + (*p)[i] - p[0][n - 1 - i] + a[i];
    out[t] = s + sizeof(*p) / sizeof(**p);
}
