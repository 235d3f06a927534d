// launch: n = 1, 5, 20; m = 0, 3
// a macro evaluates its argument twice, and that counts
#define SQUARE(x) ((x), (x))
extern "C" __global__ void macro_argument_counted_twice(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[16];
    for (int i = 0; i < 16; ++i) kept[i] = in[t * 16 + i];
    float s = 0.0f;
    for (int i = 0; i + 1 < n && i < 16;) {
        kept[(order[t + i] + (int)m) & 15] += 0.5f;
        const int before = i++;
        s += (float)(SQUARE(i++)) + kept[before];
    }
    out[t] = s + kept[n & 15];
}
