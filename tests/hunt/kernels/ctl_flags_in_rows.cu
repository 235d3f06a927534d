// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// Each row of flags is an integer, and a chain sets one in each row.
extern "C" __global__ void ctl_flags_in_rows(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool seen[3][10] = {};
    int twice = 0;
    for (unsigned j = 0; j < m + 4; ++j) {
        int a = (order[j & 15] & 7) + i % 3, b = (order[(j + 3) & 15] & 7), c = (a * b) % 10;
        if (seen[0][a] || seen[1][b] || seen[2][c]) ++twice;
        seen[0][a] = seen[1][b] = seen[2][c] = true;
    }
    out[i] = twice + seen[0][order[1] & 7] * 100 + seen[2][order[2] & 7] * 1000;
}
