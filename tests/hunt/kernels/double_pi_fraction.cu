// launch: n = 1, 5; m = 0, 3
// 2 * M_PI * k / n is not sinpi(2 k / n) in the last digits
#include <math.h>
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
extern "C" __global__ void double_pi_fraction(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    double re = 0, im = 0;
    for (int i = 0; i < n; ++i) {
        double sn, cs;
        sincos(2.0 * M_PI * (double)(order[t * 5 + i] % 100000) / n, &sn, &cs);
        re += cs * in[t * 5 + i];
        im -= sn * in[t * 5 + i];
    }
    out[4 * t] = (float)re; out[4 * t + 1] = (float)im;
    out[4 * t + 2] = (float)((re - (float)re) * 1e8); out[4 * t + 3] = (float)(sin(M_PI * order[t]) * 1e3);
}
