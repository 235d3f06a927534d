// launch: n = 0, 1, 5, 12; m = 0, 3
// Kahan sum: volatile keeps the compiler from fusing and simplifying
extern "C" __global__ void compensated_sum_volatile(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f, c = 0.0f;
    for (int i = 0; i < n; ++i) {
        volatile float x = in[t * 12 + i] * 1.1f;
        volatile float y = x * x - c;
        volatile float z = s + y;
        c = (z - s) - y;
        s = z;
    }
    out[2 * t] = s;
    out[2 * t + 1] = c * 1e8f;
}
