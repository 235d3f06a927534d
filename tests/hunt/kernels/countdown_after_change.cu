// launch: n = 0, 2, 8; m = 1, 3
// the bound changes between the counter and its loop
extern "C" __global__ void countdown_after_change(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = in[t * 8 + i];
    float s = 0.0f;
    int k = n;
    n = m;
    while (k-- > 0) s = s * 0.5f + a[k];
    out[t] = s + n;
}
