// launch: n = 0, 5, 12; m = 0, 3
// the index and the arguments have side effects; the table is changed at run time
static __device__ __noinline__ int f_inc(int& c, int x) { return c += x; }
static __device__ __noinline__ int f_dec(int& c, int x) { return c -= x; }
static __device__ __noinline__ int f_xor(int& c, int x) { return c ^= x; }
extern "C" __global__ void function_table_side_effect(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int (*tab[4])(int&, int) = { f_inc, f_dec, f_xor, f_inc };
    if (m) tab[order[t] & 3] = f_dec;
    int c = 0, i = 0, s = 0;
    while (i < n) s = (s * 3 + tab[order[t * 12 + i++] & 3](c, i)) & 0xffff;
    out[t] = (float)s;
}
