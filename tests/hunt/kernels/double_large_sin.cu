// launch: n = 0, 1, 5; m = 0, 3
// large arguments: float or sinpi would be far off
extern "C" __global__ void double_large_sin(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    double s = 0;
    for (int i = 0; i < n; ++i) s = s * 0.5 + sin((double)order[t * 5 + i] * 1048576.0 + in[t]);
    out[2 * t] = (float)s;
    out[2 * t + 1] = (float)((s - (float)s) * 1e7);
}
