// launch: n = 1, 5, 12; m = 0, 3
// the lambda takes the counter by reference and skips blanks
extern "C" __global__ void counter_in_lambda(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int used = 0;
    for (int i = 0; i < n; ++i) {
        auto skip_negative = [&] { while (i < n - 1 && in[t * 12 + i] < 0.0f) ++i; };
        skip_negative();
        a[used++] = in[t * 12 + i];
    }
    float s = 0.0f;
    for (int i = 0; i < used; ++i) s = s * 0.5f + a[used - 1 - i];
    out[2 * t] = s;
    out[2 * t + 1] = (float)used;
}
