// launch: n = 0, 1, 5, 8; m = 0, 1, 6
// Loops over an array below an `if`, on its line and on their own.
extern "C" __global__ void ctl_loops_below_an_if(const float* in, const int* order, float* out, int n, unsigned m) {
    float row[8], start = 1;
    for (int j = 0; j < n; ++j) row[j] = in[j] * 2;
    if (m & 1) for (int j = 0; j < n; ++j) row[j] = fmaxf(row[j], 0.0f);
    if (m > 3)
        for (int j = 0; j < n; ++j) row[j] += in[8 + j];
    if (m < 3) start = 0;
    else for (int j = 0; j < n; ++j) row[j] -= in[8 + j];
    float sum = start;
    for (int j = 0; j < n; ++j) sum += row[j] * (j + 1);
    out[threadIdx.x] = sum;
}
