// launch: n = 0, 1, 9, 30; m = 0, 2
// the index is read from the element
struct Cell { float sum; int count; };
extern "C" __global__ void reference_index_of_elements(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell c[12];
    for (int i = 0; i < 12; ++i) c[i] = Cell{in[t * 12 + i], i};
    float s = 0;
    for (int i = 0; i < n; ++i) {
        int at = order[t + i] % 12;
        const float v = in[t + i];
        Cell& one = c[c[at].count % 12];
        one.sum += v;
        one.count = (one.count + 1) % 12;
    }
    for (int i = 0; i < 12; ++i) s = s * 0.5f + c[i].sum * c[i].count;
    out[t] = s;
}
