// launch: n = 0, 1, 5, 9; m = 0, 3
// adding 0.0f to the elements that are not meant turns -0.0f into 0.0f
extern "C" __global__ void negative_zero_add(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[9];
    for (int k = 0; k < 9; ++k) a[k] = -0.0f;
    for (int i = 0; i < n; ++i) a[order[t * 9 + i] % 9] += in[t * 9 + i] < 0.9f ? -0.0f : 0.5f;
    for (int i = 0; i < n; ++i) a[order[t * 9 + i + 5] % 9] -= 0.0f;
    for (int k = 0; k < 9; ++k) out[t * 9 + k] = copysignf(1.0f, a[k]) + a[k];
}
