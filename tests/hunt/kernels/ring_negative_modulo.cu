// launch: n = 1, 5, 21; m = 0, 3
// (pos - j) % W is negative in C++; the code corrects it by hand
extern "C" __global__ void ring_negative_modulo(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int w[14] = {1, 2, 3, 4, 5, 6, 9, 8, 7, 6, 5, 4, 3, 2};
    int pos = 0, s = 0;
    for (int i = 0; i < n; ++i) {
        w[pos] += order[t * 32 + i] & 63;
        for (int j = 0; j < 14; ++j) {
            int k = (pos - j) % 14;
            if (k < 0) k += 14;
            s = (s * 3 + w[k]) & 0xffff;
        }
        pos = (pos + 1 + (int)m) % 14;
    }
    out[t] = (float)(s + pos);
}
