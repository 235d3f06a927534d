// launch: n = 0, 1, 4, 6; m = 0, 3
// bytes of floats go into an array of shorts; the length counts shorts
extern "C" __global__ void memcpy_between_types(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned short h[12] = {};
    double d[4] = {};
    memcpy(h, in + t * 16, 2 * n * sizeof *h);
    memcpy(d, h, n * 4);
    unsigned long long u[4];
    memcpy(u, d, sizeof u);
    unsigned long long s = 0;
    for (int i = 0; i < 12; ++i) s = s * 31 + h[i];
    for (int i = 0; i < 4; ++i) s = s * 33 ^ u[i];
    out[t] = (float)(unsigned)(s >> 40);
}
