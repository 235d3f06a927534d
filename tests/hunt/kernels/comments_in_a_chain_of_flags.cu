// launch: n = 1, 33; m = 0, 1, 3, 7
// A comment stands between the flags of a chain.
extern "C" __global__ void comments_in_a_chain_of_flags(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool seen[3][10] = {};
    int twice = 0;
    for (unsigned j = 0; j < m + 4; ++j) {
        int a = order[j & 15] & 7, b = order[(j + 3) & 15] & 7;
        if (seen[0][a] || seen[1][b]) ++twice;
        seen[0][a] = /* both */ seen[1][b] = true;
    }
    out[i] = twice + seen[0][order[1] & 7] * 100;
}
