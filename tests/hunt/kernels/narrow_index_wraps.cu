// launch: n = 0, 5, 12; m = 0, 3
// index arithmetic in bytes
extern "C" __global__ void narrow_index_wraps(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    unsigned char at = 250;
    for (int i = 0; i < n; ++i) {
        at += (unsigned char)(order[t * 12 + i] % 17);
        a[(unsigned char)(at + 3) % 12] += in[t * 12 + i];
        a[at / 22] += 1.0f;
    }
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
