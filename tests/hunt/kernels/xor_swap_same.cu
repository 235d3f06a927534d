// launch: n = 1, 5, 12; m = 0, 3
// with equal indices the xor swap sets the element to zero
extern "C" __global__ void xor_swap_same(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[12];
    for (int i = 0; i < 12; ++i) a[i] = order[t * 12 + i];
    for (int i = 0; i < n; ++i) {
        const unsigned x = a[i] % 12u, y = a[n - 1 - i] % 12u;
        a[x] ^= a[y]; a[y] ^= a[x]; a[x] ^= a[y];
    }
    unsigned h = 17;
    for (int i = 0; i < 12; ++i) h = h * 31u + a[i];
    out[t] = (float)(h & 0xffffff);
}
