// launch: n = 1, 5; m = 0, 3
// cos of a class, tan of a namespace: not the library's; one real sin
namespace approx { __device__ __forceinline__ double tan(double x) { return x * (1.0 + x * x / 3.0); } }
struct Wave { double pi; __device__ double cos(double x) const { return 1.0 - x * x / (2.0 * pi); } };
extern "C" __global__ void double_pi_member(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const Wave w = { 3.141592653589793 };
    const double pi = 3.25;
    double s = 0;
    for (int i = 0; i < n; ++i) {
        const double x = in[t * 5 + i];
        s = s * 0.5 + w.cos(w.pi * x) + approx::tan(pi * x) + sin(pi * x * 1e6);
    }
    out[2 * t] = (float)s;
    out[2 * t + 1] = (float)((s - (float)s) * 1e7);
}
