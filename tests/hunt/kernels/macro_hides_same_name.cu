// launch: n = 1, 5, 20; m = 0, 3
// the macro declares an array of the same name, and a variable that an edit may want
#define INNER(v) { float kept[4] = {1.0f, 2.0f, 3.0f, v}; int element = 2; s += kept[element]; }
extern "C" __global__ void macro_hides_same_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[12];
    for (int i = 0; i < 12; ++i) kept[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s += kept[(order[t + i] & 7) + (int)m];
        INNER(s);
    }
    out[t] = s;
}
