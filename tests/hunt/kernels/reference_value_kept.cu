// launch: n = 0, 1, 9, 30; m = 0, 2
// what is declared meanwhile is used behind
struct Cell { float sum; int count; };
extern "C" __global__ void reference_value_kept(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell c[12];
    for (int i = 0; i < 12; ++i) c[i] = Cell{in[t * 12 + i], i};
    float s = 0;
    for (int i = 0; i < n; ++i) {
        int at = order[t + i] % 12;
        const float v = in[t + i];
        Cell& one = c[at];
        float old = one.sum;
        one.sum = v;
        s += old;
        s *= 0.5f;
        if (old > v) s -= old;
    }
    for (int i = 0; i < 12; ++i) s = s * 0.5f + c[i].sum * c[i].count;
    out[t] = s;
}
