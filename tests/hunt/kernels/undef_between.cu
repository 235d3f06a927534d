// launch: n = 3, 7, 12; m = 0, 3
// LEN is 12 where the array is declared and 6 where it is used
#define LEN 12
#define DECLARE_ROW float row[LEN]
extern "C" __global__ void undef_between(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float row[LEN];
#undef LEN
#define LEN 6
    for (int i = 0; i < n; ++i) row[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < (n < LEN ? n : LEN); ++i) s = s * 0.5f + row[i];
    for (int i = 0; i < n; ++i) s += row[order[t + i] % n];
    {
        DECLARE_ROW;
        for (int i = 0; i < n / 2; ++i) row[i] = s + i;
        for (int i = 0; i < n / 2; ++i) s = s * 0.5f + row[n / 2 - 1 - i];
    }
    out[t] = s;
}
