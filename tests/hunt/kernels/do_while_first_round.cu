// launch: n = 0, 1, 5, 12; m = 0, 3
// runs once even for n = 0
extern "C" __global__ void do_while_first_round(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    int i = 0;
    do { a[i] = in[t * 12 + i]; } while (++i < n);
    float s = 0.0f;
    int k = i;
    do s = s * 0.5f + a[--k]; while (k > 0);
    while (k++ < n - 1) s = s * 0.5f + a[k];
    out[t] = s + 8.0f * i + k;
}
