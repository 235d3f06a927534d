// launch: n = 0, 5, 12, 30; m = 0, 3
// the array is walked by i / 4: thirty rounds, eight elements
extern "C" __global__ void index_is_not_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {0.0f};
    for (int i = 0; i < n; ++i) a[i >> 2] += in[t * 32 + i] * (i + 1);
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.75f + a[i & 7];
    out[t] = s;
}
