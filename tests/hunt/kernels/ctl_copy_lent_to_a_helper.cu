// launch: n = 1, 64; m = 0, 3, 7
// A copy that helpers get as a constant reference, and read numbers of.
struct Row { float w[16]; };
__device__ float at(const Row& row, int i) { return row.w[i & 15]; }
__device__ float weigh(const Row& row, const int* order, unsigned m) {
    float sum = 0;
    for (unsigned k = 0; k < m; ++k) sum += at(row, order[k]) * (k + 1);
    return sum + row.w[m & 15];
}
__device__ float of_row(const Row* __restrict__ rows, const int* order, unsigned m) {
    Row row = rows[0];
    return weigh(row, order, m);
}
extern "C" __global__ void ctl_copy_lent_to_a_helper(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = of_row((const Row*)in, order, m) + i;
}
