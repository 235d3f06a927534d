// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_table_int(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int prime[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    int s = 0;
    for (int i = 0; i < n; ++i) s = (s * 3 + prime[order[t * 12 + i] & 15]) & 0xffff;
    out[t] = (float)s;
}
