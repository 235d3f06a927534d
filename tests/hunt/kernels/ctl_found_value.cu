// launch: n = 1, 33, 64; m = 0, 1, 5, 40
// The value of the worst element stands beside its index.
extern "C" __global__ void ctl_found_value(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float top[5];
    int id[5], worst = 0;
    for (int k = 0; k < 5; ++k) { top[k] = -1e30f; id[k] = -1; }
    for (int j = 0; j < (int)m; ++j) {
        float v = in[(j * 5 + i) % 33] * (order[j & 15] & 3);
        if (v > top[worst]) {
            top[worst] = v;
            id[worst] = j;
            worst = 0;
            for (int k = 1; k < 5; ++k) if (top[k] < top[worst]) worst = k;
        }
    }
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += id[k] * (k + 1) + (top[k] > -1e29f ? top[k] : 0);
    out[i] = sum;
}
