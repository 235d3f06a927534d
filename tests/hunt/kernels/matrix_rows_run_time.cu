// launch: n = 0, 1, 3, 4; m = 0, 3, 6
// two dimensions, two bounds; rows are handed on as pointers
static __device__ __forceinline__ float row_sum(const float* r, unsigned m) { float s = 0.0f; for (unsigned j = 0; j < m; ++j) s = s * 0.5f + r[j]; return s; }
extern "C" __global__ void matrix_rows_run_time(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[4][6] = {};
    for (int i = 0; i < n; ++i)
        for (unsigned j = 0; j < m; ++j) a[i][j] = in[t * 24 + i * 6 + j];
    for (int i = 0; i < n; ++i) a[order[t + i] & 3][order[t + i + 1] % 6] += 0.5f;
    float s = 0.0f;
    for (int i = n; i-- > 0;) s = s * 0.25f + row_sum(a[i], m);
    float (*p)[6] = a + (order[t] & 3);
    out[t] = s + (*p)[3] + sizeof(a) / sizeof(a[0]);
}
