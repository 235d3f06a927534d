// launch: n = 0, 3, 10; m = 0, 3, 10
// two bounds joined by ||
extern "C" __global__ void compound_or_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[10];
    for (int i = 0; i < n || i < (int)m; ++i) a[i] = in[t * 10 + i] + (i < n ? 1 : 0);
    float s = 0.0f;
    for (unsigned i = 0; i < n || i < m; i++) s = s * 0.5f + a[i];
    out[t] = s;
}
