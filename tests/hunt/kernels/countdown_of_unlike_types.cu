// launch: n = -3, 0, 12; m = 0, 3
// a negative start is a large bound where types differ
extern "C" __global__ void countdown_of_unlike_types(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    const unsigned start = (unsigned)n;
    float s = 0.0f;
    for (int i = start; i-- > 0;) {
        s = s * 0.5f + a[i];
        a[i] = s;
    }
    out[t] = s + a[order[t] % 12] * (float)m;
}
