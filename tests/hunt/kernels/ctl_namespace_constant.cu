// launch: n = 0, 1, 5, 12; m = 0, 3
// control
namespace cfg { constexpr int half = 6; constexpr int cap = 2 * half; }
extern "C" __global__ void ctl_namespace_constant(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[cfg::cap];
    for (int i = 0; i < n; ++i) a[i] = in[t * cfg::cap + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    out[t] = s;
}
