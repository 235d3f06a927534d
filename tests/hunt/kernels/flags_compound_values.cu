// launch: n = 1, 7, 40; m = 0, 2, 3
// numbers other than 0 and 1 in compound assignments of flags: `|= 2` sets one, `&= 2` clears it
extern "C" __global__ void flags_compound_values(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[40];
    for (int i = 0; i < 40; ++i) seen[i] = order[t + i] & 1;
    for (int i = 0; i < n; ++i) {
        seen[order[t + i] % 40] |= m;
        seen[order[t + i + 1] % 40] &= order[t + i] & 6;
        seen[order[t + i + 2] % 40] ^= in[t + i] > 0.0f;
        seen[order[t + i + 3] % 40] &= m + 1;
    }
    int set = 0;
    for (int i = 0; i < 40; ++i) set = set * 3 + seen[i];
    out[t] = (float)(set & 0xffff);
}
