// launch: n = 0, 1, 12; m = 0, 3
// the counter is used behind the loop, and the bound changes in it
extern "C" __global__ void countdown_postfix_seen(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    int i, k = n;
    for (i = k; i-- > 0;) {
        s = s * 0.5f + a[i];
        if (s > 0.4f) { k = i; break; }
    }
    for (int j = k; j-- > 0;) {
        a[j] += s;
        if (k > 2) --k;
    }
    out[t] = s + a[order[t] % 12] * (float)m;
    out[8192 + t] = (float)i;
}
