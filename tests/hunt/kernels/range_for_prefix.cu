// launch: n = 0, 1, 5, 12; m = 0, 3
// range-for by reference with a counter beside it
extern "C" __global__ void range_for_prefix(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int c = 0;
    for (float& x : a) x = c++ < n ? in[t * 12 + c] : -1.0f;
    for (int i = 0; i < n; ++i) a[order[t + i] % 12] *= 0.5f;
    float s = 0.0f;
    for (const auto x : a) { if (c-- <= 12 - n) break; s = s * 0.5f + x; }
    out[t] = s + c;
}
