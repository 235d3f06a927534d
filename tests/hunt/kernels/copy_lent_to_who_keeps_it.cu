// launch: n = 1, 64; m = 0, 3, 7
// A helper gives back a reference to the copy, and the copy is written through it.
struct Row { float w[16]; };
__device__ const Row& same(const Row& row) { return row; }
__device__ float of_row(const Row* __restrict__ rows, const int* order, unsigned m) {
    Row row = rows[0];
    if (m == 3) const_cast<Row&>(same(row)).w[order[0] & 15] = 100;
    float sum = 0;
    for (unsigned k = 0; k < m; ++k) sum += row.w[order[k] & 15];
    return sum;
}
extern "C" __global__ void copy_lent_to_who_keeps_it(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = of_row((const Row*)in, order, m) + i;
}
