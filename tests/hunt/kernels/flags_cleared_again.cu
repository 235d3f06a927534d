// launch: n = 0, 1, 40; m = 0, 3
// the loop that clears the flags runs again, by a jump back
extern "C" __global__ void flags_cleared_again(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    int rounds = 0;
    bool on[40];
again:;
    for (int i = 0; i < 40; i++) on[i] = false;
    for (int i = 0; i < n; ++i) on[((order[t * 40 + i] & 0x7fffffff) + rounds) % 40] = in[t + i + rounds] > 0.0f;
    for (int i = 0; i < 40; ++i) sum = sum * 0.75f + on[i];
    if (++rounds < 2 + (int)m) goto again;
    out[t] = sum;
}
