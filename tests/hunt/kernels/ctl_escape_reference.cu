// launch: n = 0, 1, 5, 12; m = 0, 3
// control
static __device__ __noinline__ void range(float x, float& lo, float& hi) { if (x < lo) lo = x; if (x > hi) hi = x; }
extern "C" __global__ void ctl_escape_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float lo = 0.0f, hi = 0.0f;
    for (int i = 0; i < n; ++i) range(in[t * 12 + i], lo, hi);
    out[2 * t] = lo;
    out[2 * t + 1] = hi;
}
