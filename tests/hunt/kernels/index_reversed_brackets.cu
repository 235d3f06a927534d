// launch: n = 0, 5, 12; m = 0, 3
// i[a], *(a + i), and the array chosen by ?:
extern "C" __global__ void index_reversed_brackets(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {}, b[12] = {};
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 12 + i] % 12;
        k[a] += in[t * 12 + i];
        (k & 1 ? a : b)[(k + 3) % 12] -= *(a + i);
        *(b + k) = 2[a] = a[k] * 0.5f;
    }
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i] - i[b];
    out[t] = s;
}
