// launch: n = 0, 1, 9, 30; m = 0, 2
// the element changes while a name for reading it is there
struct Cell { float sum; int count; };
extern "C" __global__ void reference_to_constant(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell c[12];
    for (int i = 0; i < 12; ++i) c[i] = Cell{in[t * 12 + i], i};
    float s = 0;
    for (int i = 0; i < n; ++i) {
        int at = order[t + i] % 12;
        const float v = in[t + i];
        const Cell& one = c[at];
        const float before = one.sum;
        c[(int)(m + i) % 12].sum += 1;
        s += one.sum - before;
    }
    for (int i = 0; i < 12; ++i) s = s * 0.5f + c[i].sum * c[i].count;
    out[t] = s;
}
