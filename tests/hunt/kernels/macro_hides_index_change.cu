// launch: n = 1, 5, 20; m = 0, 3
// the macro changes the index between two accesses that look like one
#define TURN() at = (at * 5 + 3) & 15
extern "C" __global__ void macro_hides_index_change(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[16];
    for (int i = 0; i < 16; ++i) kept[i] = in[t * 16 + i];
    float s = 0.0f;
    int at = order[t] & 15;
    for (int i = 0; i < n; ++i) {
        kept[at] += 0.5f;
        TURN();
        s += kept[at] * (float)(i + (int)m);
        TURN();
        kept[at] = s;
    }
    for (int i = 0; i < 16; ++i) out[i * 8192 + t] = kept[i];
}
