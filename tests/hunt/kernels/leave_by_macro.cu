// launch: n = 0, 1, 5000; m = 0, 3, 50
// a macro leaves the kernel
#define LEAVE_AT(i, n) const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
extern "C" __global__ void leave_by_macro(const float* in, const int* order, float* out, int n, unsigned m) {
    LEAVE_AT(t, n);
    bool seen[64] = {};
    int found = 0;
    for (unsigned s = 0; s < m; s++) {
        int p = order[t + s] & 63;
        if (!seen[p]) found++;
        seen[p] = true;
    }
    out[t] = found + in[t];
}
