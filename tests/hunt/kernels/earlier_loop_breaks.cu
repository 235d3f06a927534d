// launch: n = 0, 1, 30, 31; m = 0, 3
// the loop that fills the array ends before the extent, so that it shows nothing of the bound
extern "C" __global__ void earlier_loop_breaks(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[30];
    for (int k = 0; k < 30; ++k) a[k] = m;
    for (int i = 0; i < n; ++i) {
        if (i == 30 || in[t * 32 + i] > 0.5f) break;
        a[i] = in[t * 32 + i];
    }
    for (int i = 0; i < n; ++i) {
        out[t * 32 + i] = i;
        if (i < 30) out[t * 32 + i] += a[i];
    }
    out[t * 32] = a[(order[t] & 127) % 30];
}
