// launch: n = 1, 8, 21; m = 0, 3
// control: integer sum over the whole ring: the order does not matter
extern "C" __global__ void ctl_ring_integer(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int w[8] = {};
    int s = 0;
    for (int i = 0; i < n; ++i) {
        w[i % 8] = order[t * 24 + i] & 0xff;
        int sum = 0;
        for (int j = 0; j < 8; ++j) sum += w[(j + i) % 8];
        s = (s * 3 + sum) & 0xffff;
    }
    out[t] = (float)s;
}
