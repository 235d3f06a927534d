// launch: n = 0, 1, 5, 12; m = 0, 3
// control
static __device__ __forceinline__ int at(const int* p, int k) { return p[k]; }
extern "C" __global__ void ctl_table_const_helper(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int tab[16] = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    int s = 0;
    for (int i = 0; i < n; ++i) s += at(tab, order[t * 12 + i] & 15) * (i + 1);
    out[t] = (float)s;
}
