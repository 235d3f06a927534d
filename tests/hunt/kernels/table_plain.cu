// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void table_plain(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const float gauss[24] = {0.1f, 0.7f, 0.3f, 0.9f, 0.2f, 0.55f, 0.31f, 0.77f, 0.15f, 0.6f, 0.35f, 0.95f,
                             1.1f, 1.7f, 1.3f, 1.9f, 1.2f, 1.55f, 1.31f, 1.77f, 1.15f, 1.6f, 1.35f, 1.95f};
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + gauss[order[t * 12 + i] % 24];
    out[t] = s;
}
