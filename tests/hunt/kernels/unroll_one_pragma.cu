// launch: n = 0, 1, 5, 16; m = 0, 3
// control
extern "C" __global__ void unroll_one_pragma(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16];
#pragma unroll 1
    for (int i = 0; i < 16; ++i) a[i] = in[t * 16 + i] + m;
#pragma unroll 1
    for (int i = 0; i < 16; ++i) a[i] += a[15 - i];
    float s = 0.0f;
#pragma unroll 1
    for (int i = 0; i < 16; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
