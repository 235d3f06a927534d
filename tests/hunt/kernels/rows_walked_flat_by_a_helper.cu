// launch: n = 0, 3, 20; m = 0, 3
// the helper gets the first row, and goes on in the next ones
__device__ float total(const float* p, int count)
{
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) s = s * 0.5f + p[i];
    return s;
}
extern "C" __global__ void rows_walked_flat_by_a_helper(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[4][5];
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 5; ++c) a[r][c] = in[t * 20 + r * 5 + c];
    float s = total(&a[0][0], n);
    out[t] = s + total(a[0], n) + total(a[order[t] & 3], n < 5 ? n : 5);
}
