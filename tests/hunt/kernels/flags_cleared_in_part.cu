// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// A part of the flags is cleared, and all of them set.
extern "C" __global__ void flags_cleared_in_part(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    char mark[40];
    memset(mark, 1, sizeof mark);
    memset(mark, 0, 20);
    int count = 0;
    for (unsigned j = 0; j < m * 5 + 3; ++j) {
        int at = ((order[j & 15] & 15) + i * j) % 40;
        if (mark[at]) ++count;
        mark[at] = 1;
    }
    out[i] = count;
}
