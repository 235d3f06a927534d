// launch: n = 0, 1, 9, 30; m = 0, 2
// a lambda has the name
struct Cell { float sum; int count; };
extern "C" __global__ void reference_in_a_lambda(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell c[12];
    for (int i = 0; i < 12; ++i) c[i] = Cell{in[t * 12 + i], i};
    float s = 0;
    for (int i = 0; i < n; ++i) {
        int at = order[t + i] % 12;
        const float v = in[t + i];
        Cell& one = c[at];
        auto add = [&](float x) { one.sum += x; at = 0; };
        add(v);
        one.count++;
        s += at;
    }
    for (int i = 0; i < 12; ++i) s = s * 0.5f + c[i].sum * c[i].count;
    out[t] = s;
}
