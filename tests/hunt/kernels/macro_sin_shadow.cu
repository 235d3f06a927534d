// launch: n = 1, 5, 9; m = 0, 3
// sin and cos are the project's macros here, not the library's double functions
#include <math.h>
#define sin(x) ((x) * 3.0 + 1.0)
#define cos(x) (sin(x) - (x))
extern "C" __global__ void macro_sin_shadow(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    double acc[9];
    for (int i = 0; i < 9; ++i) acc[i] = sin(3.14159265358979323846 * in[t * 9 + i]);
    for (int i = 0; i < n; ++i) acc[order[t * 9 + i] % 9] += cos(3.14159265358979323846 * in[t * 9 + i]);
    double s = 0;
    for (int i = 0; i < 9; ++i) s = s * 0.5 + acc[i];
    out[t] = (float)s;
}
