// launch: n = 1, 5, 12; m = 0, 3
// the table is changed through a reference after the first loop
extern "C" __global__ void table_written_later(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float tab[16] = {1, 2, 4, 8, 16, 32, 64, 128, 3, 9, 27, 81, 5, 25, 125, 6};
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + tab[order[t * 12 + i] % 16];
    float& last = tab[order[t] & 15];
    last += in[t];
    auto* q = &tab[n];
    *q = -1.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + tab[order[t * 12 + i + 3] % 16];
    out[t] = s;
}
