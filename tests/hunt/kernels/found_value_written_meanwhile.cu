// launch: n = 1, 33, 64; m = 1, 2, 7
// Elements change while the value of the one that was found is read.
extern "C" __global__ void found_value_written_meanwhile(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = in[(k * 3 + i) % 33] - 0.5f;
    for (unsigned round = 0; round < m; ++round) {
        int best = 0;
        for (int k = 1; k < 8; ++k) if (a[k] < a[best]) best = k;
        for (int k = 0; k < 8; ++k) a[k] = fminf(a[k], a[best] + in[(k + order[round & 7]) & 15] - 0.5f) * 0.9f;
    }
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += a[k] * k;
    out[i] = sum;
}
