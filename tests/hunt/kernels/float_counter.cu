// launch: n = 0, 1, 5, 12; m = 0, 3
// the counter is a float
extern "C" __global__ void float_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (float f = 0.0f; f < n; f += 1.0f) a[(int)f] = in[t * 12 + (int)f];
    float s = 0.0f;
    for (float f = 0.0f; f < n; f += 0.5f) s = s * 0.5f + a[(int)f];
    out[t] = s;
}
