// launch: n = 1, 5, 12; m = 0, 3
// the condition is a vote: all lanes stay until the last one is done
extern "C" __global__ void any_sync_condition(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int lim = order[t] % (n + 1);
    float a[12] = {};
    int rounds = 0;
    for (int i = 0; __any_sync(0xffffffffu, i < lim); ++i) {
        if (i < lim) a[i] = in[t * 12 + i];
        a[order[t + i] % 12] += __shfl_down_sync(0xffffffffu, (float)i, 1);
        ++rounds;
    }
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s + 16.0f * rounds;
}
