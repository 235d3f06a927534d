// launch: n = 1, 4000; m = 0, 3, 100
// the loop of the kernel is in a macro, and the flags are those of one round
#define EACH_OF(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
extern "C" __global__ void kernel_loop_bits(const float* in, const int* order, float* out, int n, unsigned m) {
    EACH_OF(t, n) {
        bool seen[32] = {};
        int found = 0;
        for (unsigned s = 0; s < m; s++) {
            int p = order[t + s] & 31;
            if (!seen[p]) found++;
            seen[p] = true;
        }
        out[t] = found + in[t];
    }
}
