// launch: n = 0, 3, 40; m = 0, 3
// the macro lowers the bound of the loop around it
#define STEP(v) do { if ((v) > 0.5f) last--; } while (0)
extern "C" __global__ void macro_hides_bound_write(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[40];
    int last = n < 40 ? n : 40;
    for (int i = 0; i < 40; ++i) kept[i] = in[t * 40 + i];
    float s = 0.0f;
    for (int i = 0; i < last; ++i) {
        s += kept[i] * (i + 1);
        STEP(kept[i]);
    }
    out[t] = s + (float)last + (float)m;
}
