// launch: n = 0, 1, 2; m = 0, 3
// another kernel counts in the table
static __device__ int perm_c[16] = {10, 7, 11, 1, 14, 3, 5, 0, 8, 12, 4, 15, 2, 13, 9, 6};
extern "C" __global__ void index_table_of_device_atomic(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state[16];
    for (int i = 0; i < 16; ++i) state[i] = order[(t + i) & 0xfffff] + n;
    for (unsigned r = 0; r < 3 + m; ++r) {
        unsigned last = state[1];
        for (int i = 0; i < 16; ++i) {
            const int at = perm_c[i] & 15;
            const unsigned next = state[at];
            state[at] = last << (i + 1) | last >> (31 - i);
            last = next ^ state[i];
        }
    }
    out[t] = (state[0] ^ state[9]) * 1.0e-9f;
}
extern "C" __global__ void index_table_of_device_atomic_2(const float* in, const int* order, float* out, int n, unsigned m) { if (n > 9) atomicAdd(&perm_c[order[0] & 15], 16); }
