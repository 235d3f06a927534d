// launch: n = 2, 5, 16; m = 0, 3
// the inner loop's start and step depend on the outer counter
extern "C" __global__ void sieve_inner_step(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char hit[16];
    for (int i = 0; i < n; ++i) hit[i] = (unsigned char)(order[t * 16 + i] & 1);
    for (int p = 2; p * p < n; ++p)
        for (int q = p * p; q < n; q += p) hit[q] += 100;
    int s = 0;
    for (int i = 0; i < n; ++i) s = (s * 3 + hit[i]) & 0xfffff;
    out[t] = (float)s;
}
