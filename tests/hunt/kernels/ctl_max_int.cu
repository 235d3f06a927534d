// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_max_int(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[12];
    for (int i = 0; i < n; ++i) a[i] = order[t * 12 + i] & 0xffff;
    int best = -1, at = -1;
    for (int i = 0; i < n; ++i) if (a[n - 1 - i] > best) { best = a[n - 1 - i]; at = i; }
    out[2 * t] = (float)best;
    out[2 * t + 1] = (float)at;
}
