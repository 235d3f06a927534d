// launch: n = 0, 1, 3, 7; m = 0, 3
// the length is in bytes and ends within a float
extern "C" __global__ void memcpy_odd_bytes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[12];
    for (int i = 0; i < 12; ++i) a[i] = 0x3f800000u;
    memcpy(a, in + t * 16, n * 5 + m);
    memcpy((char*)a + n, order + t, m);
    memset((unsigned char*)(a + 4) + 1, n, n + 2);
    unsigned h = 0;
    for (int i = 0; i < 12; ++i) h = h * 31u + a[i];
    out[t] = (float)(h & 0xffffff);
}
