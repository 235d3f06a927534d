// launch: n = 1, 5; m = 0, 3
// here PI is degrees per half turn
#define PI 180.0
extern "C" __global__ void double_pi_not_pi(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    double s = 0;
    for (int i = 0; i < n; ++i) s += sin(PI * in[t * 5 + i]) + cos(in[t * 5 + i] * PI);
    out[t] = (float)s;
}
