// launch: n = 0, 1, 5, 12; m = 0, 3
// control
#define TAPS 12
extern "C" __global__ void ctl_macro_full_loop(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[TAPS];
#pragma unroll 1
    for (int i = 0; i < TAPS; ++i) a[i] = in[t * TAPS + i] + n;
    float s = 0.0f;
#pragma unroll 1
    for (int i = 0; i < TAPS; ++i) s = s * 0.5f + a[TAPS - 1 - i];
    out[t] = s + m;
}
