// launch: n = 1, 3, 6; m = 0, 3
// the counter has another value than the one that is assigned before the loop
extern "C" __global__ void two_counters_other_start(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float row[16];
    for (int i = 0; i < 16; ++i) row[i] = in[t * 16 + i];
    int k;
    float s = 0.0f;
    k = 0;
    if (in[t] > 0.0f) k = order[t] & 7;
    for (int i = 0; i < n; ++i) {
        row[k] += s;
        s = s * 0.5f + row[k++];
    }
    for (int i = (k = order[t + 1] & 7, 0); i < n; ++i) s = s * 0.5f - row[k++];
    out[t] = s + row[order[t] & 7] * (float)m;
}
