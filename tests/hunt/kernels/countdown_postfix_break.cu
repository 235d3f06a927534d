// launch: n = 0, 1, 12; m = 0, 3
// the rounds that a guard adds come first, and would end the loop
extern "C" __global__ void countdown_postfix_break(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = n; i-- > 0;) {
        if (i >= 10 && n < 11) break;
        s = s * 0.5f + a[i];
        if (s > 0.7f) break;
        a[i] = s;
    }
    out[t] = s + a[order[t] % 12] * (float)m;
}
