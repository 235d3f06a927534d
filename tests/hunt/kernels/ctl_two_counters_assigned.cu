// launch: n = 0, 3, 16; m = 0, 3
// control
extern "C" __global__ void ctl_two_counters_assigned(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float row[16];
    int k, i;
    float top = -9.0f;
    k = 0;
    for (i = 0; i < n; i += 1, ++k) {
        row[k] = in[t * 16 + i];
        top = fmaxf(top, row[k]);
    }
    float sum = 0.0f;
    for (int j = 0; j < k; ++j) sum += row[j] = row[j] - top;
    for (i = 3, k = 0; k < n; ++k, i += 5) { sum = sum * 0.5f + row[k] * i; if (sum > 40.0f) break; }
    out[t] = sum + k;
    out[8192 + t] = (float)i + m;
}
