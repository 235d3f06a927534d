// launch: n = 0, 1, 4, 6; m = 0, 3
// control
extern "C" __global__ void ctl_triangle_run_time(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[6][6];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i][j] = in[t * 36 + i * 6 + j] + (i == j ? 4.0f + m : 0.0f);
    for (int j = 0; j < n; ++j) {
        for (int i = j + 1; i < n; ++i) {
            a[i][j] = __fdiv_rn(a[i][j], a[j][j]);
            for (int k = j + 1; k < n; ++k) a[i][k] = __fadd_rn(a[i][k], -__fmul_rn(a[i][j], a[j][k]));
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) out[t * 36 + i * 6 + j] = a[i][j];
}
