// launch: n = 0, 1, 5, 8; m = 0, 3
// control
extern "C" __global__ void volatile_array_dynamic(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int cnt[4] = {0, 0, 0, 0};
    for (int i = 0; i < n; ++i) cnt[order[t * 8 + i] & 3] = cnt[order[t * 8 + i] & 3] + i + 1;
    out[t] = (float)(cnt[0] + cnt[1] * 64 + cnt[2] * 4096 + cnt[3] * 65536);
}
