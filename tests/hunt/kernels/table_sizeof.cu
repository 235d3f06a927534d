// launch: n = 0, 5, 12; m = 0, 3
// control: sizeof of the table is its length
extern "C" __global__ void table_sizeof(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    short weights[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
    int s = 0;
    for (int i = 0; i < n; ++i) s += weights[order[t * 12 + i] % (sizeof(weights) / sizeof(weights[0]))] * (i + 1);
    out[t] = (float)s + sizeof weights;
}
