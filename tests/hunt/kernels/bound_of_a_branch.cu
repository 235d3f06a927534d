// launch: n = 0, 1, 6, 8, 12; m = 0, 1
// a branch accesses the longer array, or none: the loop before says less of the bound than it seems
extern "C" __global__ void bound_of_a_branch(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[6], b[12];
    for (int i = 0; i < 6; ++i) a[i] = 0;
    for (int i = 0; i < 12; ++i) b[i] = i;
    for (int i = 0; i < n; ++i)
        if (i < 6 && order[t] & 1) a[i] = in[i * 64 + t % 64];
        else b[i] = in[i * 64 + t % 64];
    float sum = 0;
    for (int j = 0; j < n; ++j) sum = sum * 0.5f + (j < 6 && m ? a[j] : b[j]);
    for (int j = 0; j < n; ++j) sum += j < 3 ? a[j] : 0.125f;
    out[t] = sum;
}
