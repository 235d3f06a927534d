// launch: n = 0, 3, 40; m = 1, 3
// the macro reads the counter behind the loop
#define REPORT() out[t] = s * 2.0f; out[8192 + t] = (float)i;
extern "C" __global__ void macro_hides_counter_use(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[40];
    int i;
    for (i = 0; i < 40; ++i) kept[i] = in[t * 40 + i];
    float s = 0.0f;
    for (i = 0; i < n; i += m) s += kept[i & 7] * (i + 1);
    for (i = 0; i < n && i < 40; ++i) s += kept[i];
    REPORT();
}
