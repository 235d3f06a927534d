// launch: n = 1, 7, 40; m = 0, 3
// two rows of flags in one assignment, and an index that steps once
extern "C" __global__ void flags_chained(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool used[24], saved[24];
    for (int i = 0; i < 24; ++i) used[i] = saved[i] = false;
    int at = 0;
    for (int i = 0; i < n; ++i) {
        if (in[t + i] > 0.5f) used[order[t + i] % 24] = saved[(order[t + i] >> 5) % 24] = true;
        saved[at++ % 24] |= in[t + i] < -0.5f;
        if (i % 9 == 8) for (int k = 0; k < 24; ++k) used[k] = saved[k];
    }
    int set = 0;
    for (int i = 0; i < 24; ++i) set = set * 3 + used[i] * 2 + saved[i];
    out[t] = (float)(set & 0xffff);
    out[8192 + t] = (float)(at + (int)m);
}
