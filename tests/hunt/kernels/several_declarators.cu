// launch: n = 1, 5, 8; m = 0, 3
// one statement declares an array, a pointer to it, a second array, and a scalar that is read from it
extern "C" __global__ void several_declarators(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {in[t], in[t + 1]}, *p = a, b[8], x = a[1] * p[0], *const end = a + n;
    for (int i = 0; i < n; ++i) b[i] = in[t * 8 + i] + x;
    while (p != end) *p++ += 3.0f;
    for (int i = 0; i < n; ++i) a[order[t + i] % 8] += b[n - 1 - i];
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.5f + a[i];
    out[t] = s + (float)(p - a);
}
