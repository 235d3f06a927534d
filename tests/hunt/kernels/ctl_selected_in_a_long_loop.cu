// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// Two words are chosen by a number of a long loop's counters.
extern "C" __global__ void ctl_selected_in_a_long_loop(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long word[2] = {0, 0};
    for (int r = 0; r < 24; ++r) {
        int nibble = order[(r + i) & 15] + (int)m;
        for (int t = 0; t < 4; ++t)
            if (nibble & (1 << t)) { const int id = r * 4 + t; word[id >> 6] |= 1ull << (id & 63); }
    }
    out[i] = (float)(word[0] % 1000003) + (float)(word[1] % 1009);
}
