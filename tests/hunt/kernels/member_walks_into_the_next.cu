// launch: n = 1, 33, 64; m = 0, 1, 3, 4, 8
// A loop goes on from one member array in the next one, of the same type.
struct Bounds { float lo[4], hi[4]; };
extern "C" __global__ void member_walks_into_the_next(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bounds b = {};
    for (unsigned k = 0; k < m; ++k) b.lo[k] = in[k] + i;
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += b.hi[order[k] & 3] * (k + 1);
    out[i] = sum + b.lo[order[0] & 3];
}
