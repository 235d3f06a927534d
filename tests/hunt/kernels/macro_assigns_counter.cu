// launch: n = 2, 5, 12; m = 0, 1, 3
// SKIP(2) moves the counter of the loop it stands in
#define SKIP(k) (i += (k))
extern "C" __global__ void macro_assigns_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int rounds = 0;
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) {
        a[i] += a[n - 1 - i] + 1.0f;
        ++rounds;
        if (order[t + i] & 1) SKIP(2);
    }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i] - a[order[t * 2 + i] % n];
    out[t] = s + rounds;
}
