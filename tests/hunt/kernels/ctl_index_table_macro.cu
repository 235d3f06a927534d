// launch: n = 0, 1, 2; m = 0, 3
// the table is named in the code of a macro alone
static __constant__ unsigned char perm_m[16] = {10, 7, 11, 1, 14, 3, 5, 0, 8, 12, 4, 15, 2, 13, 9, 6};
#define STEP_M(k, from) do { last += state[perm_m[(k)]] + (from); } while (0)
extern "C" __global__ void ctl_index_table_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state[16];
    for (int i = 0; i < 16; ++i) state[i] = order[(t + i) & 0xfffff] + n;
    unsigned last = m;
    for (int i = 0; i < 16; ++i) {
        STEP_M(i, 3);
        last = last * 31 + (last >> 7);
    }
    out[t] = last * 1.0e-9f;
}
