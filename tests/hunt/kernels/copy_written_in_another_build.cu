// launch: n = 1, 33; m = 0, 1, 3, 7
// Another build writes what a copy is of, while the copy is read.
struct Row { float w[8]; };
extern "C" __global__ void copy_written_in_another_build(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Row* rows = (const Row*)in;
    Row row = rows[order[0] & 1];
    float sum = 0;
#ifdef LOGGING
    ((Row*)rows)[order[0] & 1].w[3] = 100;
#endif
    for (unsigned k = 0; k < m; ++k) sum += row.w[order[k] & 7];
    out[i] = sum;
}
