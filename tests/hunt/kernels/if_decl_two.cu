// launch: n = 4, 6, 12; m = 0, 3
#define SMALL_BUFFER 0
extern "C" __global__ void if_decl_two(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
#if SMALL_BUFFER
    float a[4];
#else
    double a[12];
#endif
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i] / 3.0f;
    a[0] = a[0] / 3;
    double s = 0.0;
    for (int i = 0; i < n; ++i) s = s / 7 + a[n - 1 - i];
    out[2 * t] = (float)s;
    out[2 * t + 1] = (float)((s - (float)s) * 1e6);
}
