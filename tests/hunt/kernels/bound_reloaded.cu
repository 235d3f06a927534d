// launch: n = 1, 5, 12; m = 0, 3
// the bound is an element of an array that the body changes
extern "C" __global__ void bound_reloaded(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int lim[4] = { n, n / 2, n - 1, 1 };
    float a[12], s = 0.0f;
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    const int q = order[t] & 3;
    for (int i = 0; i < lim[q]; ++i) {
        s = s * 0.5f + a[i];
        if (s > 0.9f) lim[order[t + i] & 3]--;
        if (s < -0.9f && lim[q] < 11) lim[q]++;
    }
    out[t] = s;
    out[t + 8192] = (float)(lim[0] + 16 * lim[1] + 256 * lim[2] + 4096 * lim[3]);
}
