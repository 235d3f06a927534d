// launch: n = 1, 5, 12; m = 0, 3
// inline PTX with the local address of the array
extern "C" __global__ void asm_local_address(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) a[order[t + i] % 12] += (float)i;
    const int k = order[t] % n;
    float x;
    asm volatile("{ .reg .u64 l; cvta.to.local.u64 l, %1; st.local.f32 [l], %2; ld.local.f32 %0, [l]; }" : "=f"(x) : "l"(a + k), "f"(in[t] * 2.0f) : "memory");
    float s = x;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s + (__isLocal(a) ? 0.0f : 64.0f);
}
