// launch: n = 0, 1, 5, 12; m = 0, 3
// control
#define FOREACH(i, n) for (int i = 0; i < (n); ++i)
extern "C" __global__ void macro_foreach(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    FOREACH(i, n) a[i] = in[t * 12 + i];
    float s = 0.0f;
    FOREACH(i, n) s = s * 0.5f + a[n - 1 - i];
    out[t] = s;
}
