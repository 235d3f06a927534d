// launch: n = 0, 1, 5, 12; m = 0, 3
// control
constexpr float S = 0.25f;
extern "C" __global__ void ctl_table_expressions(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const float w[16] = {1 * S, 2 * S, 3 * S, 4 * S, 5 * S, 6 * S, 7 * S, 8 * S, S - 1, S - 2, S - 3, S - 4, S, S, -S, 0.0f};
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + w[order[t * 12 + i] & 15];
    out[t] = s;
}
