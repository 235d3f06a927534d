// launch: n = 1, 33, 64; m = 0, 1, 5, 40
// A place is looked for, what follows moves down, and the place is written.
extern "C" __global__ void ctl_search_shift_store(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best[6];
    int id[6];
    for (int k = 0; k < 6; ++k) { best[k] = 1e30f; id[k] = -1; }
    for (int j = 0; j < (int)m; ++j) {
        float d = in[(j * 7 + i) % 33] * (order[j & 15] & 7);
        if (!(d < best[5])) continue;
        int at = 0;
        while (best[at] <= d) ++at;
        for (int k = 5; k > at; --k) { best[k] = best[k - 1]; id[k] = id[k - 1]; }
        best[at] = d;
        id[at] = j;
    }
    float sum = 0;
    for (int k = 0; k < 6; ++k) sum += id[k] * (k + 1) + (best[k] < 1e29f ? best[k] : 0);
    out[i] = sum;
}
