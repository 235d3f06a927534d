// launch: n = 0, 1, 5, 12; m = 0, 3
// control: not const, but never written
extern "C" __global__ void ctl_table_non_const(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f};
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + w[order[t * 12 + i] % 20];
    out[t] = s;
}
