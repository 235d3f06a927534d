// launch: n = 0, 1, 5, 8; m = 0, 1, 6
// An `else` behind a loop would be that of the guard.
extern "C" __global__ void loops_below_an_if_with_else(const float* in, const int* order, float* out, int n, unsigned m) {
    float row[8];
    for (int j = 0; j < n; ++j) row[j] = in[j] * 2;
    float sum = 0;
    if (m & 1) if (m > 3) sum = 1; else for (int j = 0; j < n; ++j) row[j] = fmaxf(row[j], 0.0f); else sum = 5;
    if (m > 3) for (int t = 0; t < 2; ++t) for (int j = 0; j < n; ++j) row[j] += in[8 + j]; else sum += 7;
    for (int j = 0; j < n; ++j) sum += row[j] * (j + 1);
    out[threadIdx.x] = sum;
}
