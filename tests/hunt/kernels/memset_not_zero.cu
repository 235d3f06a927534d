// launch: n = 0, 1, 5, 12; m = 0, 3
// memset writes bytes: 1 becomes 0x01010101
extern "C" __global__ void memset_not_zero(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[12];
    for (int i = 0; i < 12; ++i) a[i] = order[t * 12 + i];
    void* r = memset(a, 1 + m, n * sizeof(int));
    unsigned h = r == (void*)a;
    for (int i = 0; i < 12; ++i) h = h * 31u + a[i];
    out[t] = (float)(h & 0xffffff);
}
