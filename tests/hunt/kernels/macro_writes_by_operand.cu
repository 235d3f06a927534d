// launch: n = 1, 5, 20; m = 0, 3
// what looks like a name is an element of the array, and it is written
#define LAST kept[11]
extern "C" __global__ void macro_writes_by_operand(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[24];
    for (int i = 0; i < 24; ++i) kept[i] = in[t * 24 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s += kept[(order[t + i] + (int)m) & 15];
        LAST = s * 0.5f;
    }
    out[t] = s;
}
