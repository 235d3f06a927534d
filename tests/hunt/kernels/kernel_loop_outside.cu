// launch: n = 1, 40; m = 0, 3, 100
// the flags are of all rounds of a loop that a macro writes
#define EACH_OF(i, n) for (int i = 0; i < (n); i++)
extern "C" __global__ void kernel_loop_outside(const float* in, const int* order, float* out, int n, unsigned m) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[32] = {};
    int found = 0;
    EACH_OF(t, n) {
        for (unsigned s = 0; s < m; s++) {
            int p = order[first + t + s] & 31;
            if (!seen[p]) found++;
            seen[p] = true;
        }
    }
    out[first] = found + in[first];
}
