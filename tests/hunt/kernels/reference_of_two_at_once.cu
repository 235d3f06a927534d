// launch: n = 0, 1, 9, 30; m = 0, 2
// two names, maybe of one element
struct Cell { float sum; int count; };
extern "C" __global__ void reference_of_two_at_once(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell c[12];
    for (int i = 0; i < 12; ++i) c[i] = Cell{in[t * 12 + i], i};
    float s = 0;
    for (int i = 0; i < n; ++i) {
        int at = order[t + i] % 12;
        const float v = in[t + i];
        Cell& one = c[at];
        Cell& two = c[(int)(m + i) % 12];
        one.sum += v;
        two.count += one.count & 3;
        one.sum *= two.sum;
    }
    for (int i = 0; i < 12; ++i) s = s * 0.5f + c[i].sum * c[i].count;
    out[t] = s;
}
