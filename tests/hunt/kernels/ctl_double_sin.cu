// launch: n = 1, 5; m = 0, 3
// control: only the sign of the sum is used
extern "C" __global__ void ctl_double_sin(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    double s = 0;
    for (int i = 0; i < n; ++i) s += sin((double)in[t * 5 + i]);
    out[t] = (float)(s > 0.0);
}
