// launch: n = 0, 1, 5, 12; m = 0, 3
// C++17: the right side first, then the index with its side effect
extern "C" __global__ void eval_self_increment(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[13];
    for (int k = 0; k < 13; ++k) a[k] = in[t * 13 + k];
    int i = 0, j = n;
    while (i < n) a[i++] = a[i] * 0.5f + a[--j];
    float s = 0.0f;
    for (int k = 0; k < 13; ++k) s = s * 0.5f + a[k];
    out[t] = s + i + j * 4;
}
