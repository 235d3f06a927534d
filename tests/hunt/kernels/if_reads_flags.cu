// launch: n = 1, 5; m = 0, 3, 50
// another build reads the flags as an array
extern "C" __global__ void if_reads_flags(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[32] = {};
    int found = 0;
    for (unsigned s = 0; s < m; s++) {
        int p = order[t + s] & 31;
        if (!seen[p]) found++;
        seen[p] = true;
    }
#ifdef ALL_FLAGS
    for (int i = 0; i < 32; i++) out[t + i] = seen[i];
#endif
    out[t] = found + in[n];
}
