// launch: n = 0, 5, 12; m = 0, 3
// a[a[i]]: index and element are from the same array
extern "C" __global__ void self_index_chain(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[12];
    for (int i = 0; i < 12; ++i) a[i] = order[t * 12 + i] % 12;
    for (int i = 0; i < n; ++i) { a[a[i]] = a[a[a[i]]]; a[a[11 - i]] = (a[a[i]] + i) % 12; }
    int s = 0;
    for (int i = 0; i < 12; ++i) s = (s * 3 + a[i]) & 0xfffff;
    out[t] = (float)s;
}
