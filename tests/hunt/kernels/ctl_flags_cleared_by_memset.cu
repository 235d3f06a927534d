// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// Flags are cleared by memset, at first and again.
extern "C" __global__ void ctl_flags_cleared_by_memset(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    char mark[40];
    memset(mark, 0, sizeof mark);
    int count = 0;
    for (unsigned j = 0; j < m * 5 + 3; ++j) {
        int at = ((order[j & 15] & 15) + i * j) % 40;
        if (mark[at]) { ++count; memset(mark, 0, sizeof(mark)); }
        mark[at] = 1;
    }
    out[i] = count + mark[order[0] & 31];
}
