// launch: n = 0, 1, 5, 8; m = 0, 3, 5
// another name of the bound is given in braces
extern "C" __global__ void alias_of_bound_by_braces(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float row[16];
    int limit = n;
    for (int j = 0; j < limit; ++j) row[j] = in[j];
    int& count{limit};
    float sum = 0;
    for (int j = 0; j < limit; ++j) { if (j == (int)m) count = n - 1; sum += row[j]; }
    out[t] = sum;
}
