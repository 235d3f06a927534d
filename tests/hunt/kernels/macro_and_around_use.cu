// launch: n = 0, 4, 11; m = 0, 3
// the macro guards its own argument: VALID(x, e) is `&&`, the index is out of range when the left side is false
#define VALID(c, e) ((c) && (e))
#define PICK(c, a, b) ((c) ? (a) : (b))
extern "C" __global__ void macro_and_around_use(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float lut[11];
    for (int i = 0; i < 11; ++i) lut[i] = in[t * 11 + i];
    int hits = 0;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 11 + i] % 40 - 10;
        if (VALID(k >= 0 && k < 11, lut[k] > 0.0f)) ++hits;
        s += PICK((unsigned)k < 11u, lut[k], -1.0f);
    }
    out[t] = s * 16.0f + hits;
}
