// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_vector_elements(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a[6];
    for (int i = 0; i < n / 2; ++i) a[i] = make_float4(in[t * 24 + i], in[t * 24 + 6 + i], in[t * 24 + 12 + i], in[t * 24 + 18 + i]);
    float s = 0.0f;
    for (int i = 0; i < n / 2; ++i) s = s * 0.5f + a[i].x - a[i].y + a[n / 2 - 1 - i].z - a[i].w;
    out[t] = s;
}
