// launch: n = 0, 1, 5, 8; m = 0, 3
// three arrays behind a table of pointers; two entries are the same array
extern "C" __global__ void table_of_row_pointers(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {}, b[8] = {}, c[8] = {};
    float* const rows[4] = { a, b, c, b };
    for (int i = 0; i < n; ++i) { rows[order[t * 8 + i] & 3][i] += in[t * 8 + i]; rows[i & 3][order[t + i] & 7] -= 0.5f; }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i] + 2.0f * b[i] + 4.0f * c[n - 1 - i];
    out[t] = s;
}
