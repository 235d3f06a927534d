// launch: n = 0, 1, 7, 12; m = 0, 3
// control
extern "C" __global__ void ctl_memset_zero(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[12];
    for (int i = 0; i < 12; ++i) a[i] = order[t * 12 + i] & 0xffff;
    memset(a, 0, n * sizeof(int));
    int s = 0;
    for (int i = 0; i < 12; ++i) s = (s * 3 + a[i]) & 0xffff;
    out[t] = (float)s;
}
