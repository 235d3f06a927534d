// launch: n = 0, 2, 4; m = 1, 7
// flags that only a loop of unknown length sets
extern "C" __global__ void flags_of_a_rolled_loop(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool valid[32];
    for (int i = 0; i < 32; ++i) valid[i] = false;
    int count = 0;
    for (int x = 0; x < 8; ++x) {
        for (int r = 0; r < n; ++r) {
            for (int step = 1; step < 64; step = step * 2 + m) {
                if (order[t + x + step] & 4) { valid[x * 4 + r] = true; count++; }
                if (valid[x * 4 + r]) break;
            }
        }
    }
    for (int i = 0; i < 32; ++i) if (valid[i]) count += i * m;
    out[t] = count;
}
