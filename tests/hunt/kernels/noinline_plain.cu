// launch: n = 0, 3, 12; m = 0, 3
// control: address escapes to a function of this file
static __device__ __noinline__ void mix(float* acc, const float* src, int k) { *acc = *acc * 0.5f + src[k]; }
extern "C" __global__ void noinline_plain(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0.0f;
    for (int i = 0; i < n; ++i) mix(&acc, in + t * 12, order[t * 12 + i] % 12);
    out[t] = acc;
}
