// launch: n = 1, 33; m = 0, 1, 3, 7
// A reference to an array in memory hides the one in constant memory, and is written.
struct Row { float w[8]; int used; };
__constant__ Row rows[2];
__device__ Row others[64][2];
extern "C" __global__ void constant_hidden_by_a_reference(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Row (&rows)[2] = others[i];
    for (int k = 0; k < 8; ++k) rows[0].w[k] = rows[1].w[k] = in[k] + i;
    rows[0].used = rows[1].used = 8;
    Row row = rows[order[0] & 1];
    rows[order[0] & 1].used = 2;
    rows[order[0] & 1].w[3] = 100;
    float sum = 0;
    for (int k = 0; k < row.used; ++k) sum += row.w[order[k] & 7];
    out[i] = sum + m;
}
