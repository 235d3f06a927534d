// launch: n = 1, 5, 20; m = 0, 3
// the macro reads and writes the array by its name
#define ROTATE() { float first = kept[0]; kept[0] = kept[5]; kept[5] = first; }
extern "C" __global__ void macro_hides_array_use(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[12];
    for (int i = 0; i < 12; ++i) kept[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s += kept[(order[t + i] & 7) + (int)m];
        ROTATE();
    }
    out[t] = s;
}
