// launch: n = 4, 8, 16; m = 0, 3
// the same loop with an extent of 16 and of 4: the text is one, the instances are two
template <int N> __device__ float part(const float* in, const int* order, int t, int n)
{
    float a[N];
    for (int i = 0; i < N; ++i) a[i] = in[t * 16 + i];
    for (int i = 0; i < n; ++i) a[order[t * 16 + i] % N] += 1.0f;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i % N];
    for (int i = 0; i < n && i < N; ++i) s = s * 0.5f + a[i];
    return s;
}
extern "C" __global__ void two_instances_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = part<16>(in, order, t, n) + part<4>(in, order, t, n) * 0.5f;
}
