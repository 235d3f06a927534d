// launch: n = 0, 1, 3, 4; m = 0, 3
// a helper turns a row of an array and another array
__device__ inline void turn(float* x, float* y, float c, float s, int from, int to)
{
    for (int j = from; j < to; ++j) {
        float u = x[j], v = y[j];
        x[j] = c * u + s * v;
        y[j] = c * v - s * u;
    }
}
extern "C" __global__ void ctl_rows_of_a_helper(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float R[4][5] = {}, x[5] = {};
    for (unsigned r = 0; r < m; ++r) {
        for (int j = 0; j <= n; ++j) x[j] = in[(t * 4 + r) * 5 + j];
        for (int k = 0; k < n; ++k) {
            float h = sqrtf(R[k][k] * R[k][k] + x[k] * x[k]);
            if (h > 0.0f) turn(R[k], x, R[k][k] / h, x[k] / h, k, n + 1);
        }
    }
    float s = 0;
    for (int k = 0; k < n; ++k)
        for (int j = k; j <= n; ++j) s = s * 0.5f + fabsf(R[k][j]);
    out[t] = s;
}
