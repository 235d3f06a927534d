// launch: n = 1, 33, 64; m = 0, 1, 3, 5, 9
// Two classes have a member of one name and of another length.
struct Short { float w[6]; };
struct Long { float w[10]; };
extern "C" __global__ void member_of_two_classes(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Long a = {};
    Short b = {};
    for (unsigned k = 0; k < m; ++k) a.w[k] = in[k] * i;
    for (unsigned k = 0; k < m && k < 6; ++k) b.w[k] = in[k] + i;
    out[i] = a.w[order[0] & 7] + b.w[order[1] & 3];
}
