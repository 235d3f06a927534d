// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_volatile_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int steps = 0;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) { s = s * 0.5f + in[t * 12 + i]; steps = steps + 1; }
    out[t] = s + steps;
}
