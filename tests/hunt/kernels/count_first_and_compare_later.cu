// launch: n = 1, 5, 8; m = 0, 3
// the condition counts, and what stands behind it reads the counter
extern "C" __global__ void count_first_and_compare_later(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[9];
    int g = 0;
    do { a[g] = in[t * 8 + g]; } while (++g < n && order[(t + g) & 4095] % 5 != g - 1);
    const int count = g;
    float s = 0.0f;
    g = 0;
    do { s = s * 0.5f + a[g]; } while (g++ < count - 1);
    out[t] = s + g * 2.0f + count;
}
