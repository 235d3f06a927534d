// launch: n = 0, 1, 2; m = 0, 3
// a variable of the kernel has the name of the table
static __constant__ int perm_n[16] = {10, 7, 11, 1, 14, 3, 5, 0, 8, 12, 4, 15, 2, 13, 9, 6};
static __device__ int first_n(int i) { return perm_n[i]; }
extern "C" __global__ void index_table_shadowed(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int perm_n[16];
    for (int i = 0; i < 16; ++i) perm_n[i] = (first_n(i) + n) & 15;
    unsigned state[16];
    for (int i = 0; i < 16; ++i) state[i] = order[(t + i) & 0xfffff] + n;
    for (unsigned r = 0; r < 3 + m; ++r) {
        unsigned last = state[1];
        for (int i = 0; i < 16; ++i) {
            const int at = perm_n[i];
            const unsigned next = state[at];
            state[at] = last << (i + 1) | last >> (31 - i);
            last = next ^ state[i];
        }
    }
    out[t] = (state[0] ^ state[9]) * 1.0e-9f;
}
