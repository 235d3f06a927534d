// launch: n = 1, 5, 6, 36; m = 0
// one macro for the index goes on in rows of one element, so that the loop has more rounds than a row
#define N 6
#define AT(i, j) (i) * N + (j)
#define FLAT(i) ((i) * 1)
#define TURNED(i) (N * N - 1 - (i))
extern "C" __global__ void index_by_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[N * N], b[N * N];
    for (int i = 0; i < N * N; ++i) a[i] = b[i] = 0;
    for (int i = 0; i < n; ++i) a[FLAT(i)] = in[i * 64 + t % 64];
    for (int i = 0; i < n; ++i) b[TURNED(i)] = a[FLAT(i)];
    float sum = 0;
    for (int i = 0; i < n && i < N; ++i) sum = sum * 0.5f + a[AT(i, order[t] & 3)] - b[AT(i, i)];
    out[t] = sum;
}
