// launch: n = 1, 5, 8; m = 0
// the macro means another index in the second loop, and its name in the third is that of a variable
#define SPOT(i) ((i) + base)
extern "C" __global__ void index_by_macro_of_another_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = -i;
    const int base = order[t] & 3;
    for (int i = 0; i < n; ++i) a[SPOT(i)] = in[i * 64 + t % 64];
#undef SPOT
#define SPOT(i) (11 - (i))
    float sum = 0;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + a[SPOT(i)];
    out[t] = sum;
}
