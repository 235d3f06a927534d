// launch: n = 0, 1, 3; m = 0, 3
// float4 view of a float array, dynamic
extern "C" __global__ void float4_over_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    alignas(16) float a[16];
    float4* v = reinterpret_cast<float4*>(a);
    for (int i = 0; i < 4; ++i) v[i] = make_float4(in[t * 16 + i], in[t * 16 + 4 + i], in[t * 16 + 8 + i], in[t * 16 + 12 + i]);
    for (int i = 0; i < n; ++i) v[order[t + i] & 3].y += 1.0f;
    float s = 0.0f;
    for (int i = 0; i < 16; ++i) s = s * 0.5f + a[i];
    for (int i = 0; i < n; ++i) s += a[order[t + i] & 15];
    out[t] = s;
}
