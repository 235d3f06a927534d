// launch: n = 0, 1, 4; m = 0, 4
// a pointer in the structure leads to its own bound
struct Plan {
    int n;
    int* steps;
    float* sums[2];
};
__device__ void lengthen(int& n, unsigned m) { n += m; }
extern "C" __global__ void bound_in_a_structure(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[4], b[8], own[4];
    Plan p;
    p.n = n;
    p.steps = &p.n;
    p.sums[0] = own;
    for (int i = 0; i < 8; ++i) b[i] = i;
    for (int i = 0; i < 4; ++i) own[i] = 0;
    for (int i = 0; i < p.n; ++i) { a[i] = in[i * 64 + t % 64]; p.sums[0][i] = a[i]; }
    p.steps[0] += m;
    float sum = 0;
    for (int j = 0; j < p.n; ++j) sum = sum * 0.5f + (j < n ? a[j] : b[j]);
    lengthen(p.n, m / 4);
    for (int j = 0; j < p.n && j < 8; ++j) sum += j < n ? own[j] : b[j];
    out[t] = sum;
}
