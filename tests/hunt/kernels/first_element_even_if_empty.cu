// launch: n = 0, 1, 5, 12; m = 0, 3
// a[0] is written before the loop, and n = 0 must leave it; the loop starts at 1 and looks back
extern "C" __global__ void first_element_even_if_empty(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[13];
    a[0] = 3.0f;
    for (int i = 1; i <= n; ++i) a[i] = a[i - 1] * 0.5f + in[t * 13 + i];
    const int last = n;
    float s = a[last], peak = a[0];
    for (int i = last; i > 0; --i) { peak = a[i] - a[i - 1] > peak ? a[i] : peak; s = s * 0.5f + a[order[t + i] % i]; }
    out[t] = s + peak;
}
