// launch: n = 0, 2, 4; m = 0, 3
// the condition is false once, and would be true again
extern "C" __global__ void bits_of_the_counter_as_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {};
    #pragma unroll 1
    for (int i = 0; (i & 3) < n && i < 8; ++i) a[i] = in[t * 8 + i];
    #pragma unroll 1
    for (int i = 0; n < 4 && (i & 3) < n; ++i) a[i] += in[t * 8 + i];
    float s = 0;
    for (int i = 0; i < 8; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
