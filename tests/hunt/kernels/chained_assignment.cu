// launch: n = 0, 5, 12; m = 0, 3
// the value of an assignment is the narrowed one
extern "C" __global__ void chained_assignment(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char c[12] = {};
    signed char d[12] = {};
    unsigned s = m;
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 12 + i] % 12, l = (order[t * 12 + i] >> 8) % 12;
        s = s * 31u + (c[k] += 200);
        s = s * 31u + (d[l] = c[k] = 300 + i);
        if (++c[l] == 0) s += 7;
        s += c[k]-- > d[k];
        (d[k] += 100) ^= 1;
    }
    for (int i = 0; i < 12; ++i) s = s * 31u + c[i] * 3u + d[i];
    out[t] = (float)(s & 0xffffff);
}
