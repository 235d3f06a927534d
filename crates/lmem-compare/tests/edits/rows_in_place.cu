// Rows at offsets that are data, which tests let overlap: each is smoothed where it lies.
// right: 1 2
// wrong: 50 51 52 53
extern "C" __global__ void rows_in_place(const int *starts, float *x, int rows, float w)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int n = starts[row + 1] - starts[row];
    float *own = x + starts[row];
#if V == 2
    __shared__ float all[8][256];
#define old(i) all[i][threadIdx.x]
#elif V == 53
    __shared__ float all[8][256];
#define old(i) all[i][threadIdx.x & ~1]
#else
    float kept[8];
#define old(i) kept[i]
#endif
    float sum = 0;
#if V == 1 || V == 50 || V == 51 || V == 52
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n) {
            old(i) = own[i];
#if V == 50
            sum += old(i) * old(0);
#else
            sum += old(i);
#endif
        }
#pragma unroll
    for (int i = 0; i < 8; i++)
#if V == 51
        if (i < n - 1) own[i] = old(i) * w + sum;
#elif V == 52
        if (i < n) own[i] = old(i) * w + sum + own[0];
#else
        if (i < n) own[i] = old(i) * w + sum;
#endif
#else
    for (int i = 0; i < n; i++) {
        old(i) = own[i];
        sum += old(i);
    }
    for (int i = 0; i < n; i++) own[i] = old(i) * w + sum;
#endif
}
