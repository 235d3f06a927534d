// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_table_two_dim(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const short step[8][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    int x = 0, y = 0;
    for (int i = 0; i < n; ++i) { const int k = order[t * 12 + i] & 7; x += step[k][0]; y += step[k][1]; }
    out[2 * t] = (float)x;
    out[2 * t + 1] = (float)y;
}
