// launch: n = 0, 3, 8; m = 0, 3
// two rows and the pointers to them, in one declaration, exchanged in rounds
extern "C" __global__ void __launch_bounds__(128) pointers_exchanged_in_one_statement(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[10], b[10], *cur = a, *nxt = b;
    for (int i = 0; i < 10; ++i) cur[i] = in[t * 10 + i];
    int len = 2;
    for (int r = 0; r < n; ++r) {
        nxt[0] = cur[0];
        for (int i = 1; i < len; ++i) nxt[i] = cur[i - 1] * 0.5f + cur[i];
        nxt[len] = cur[len - 1];
        if (len < 9) ++len;
        float *tmp = cur;
        cur = nxt;
        nxt = tmp;
    }
    float s = (float)m;
    for (int i = 0; i < len; ++i) s = s * 0.5f + cur[i];
    out[t] = s;
}
