// launch: n = 1, 5, 20; m = 0, 3
// the bound looks like the parameter and is a macro from here on
extern "C" __global__ void macro_changes_bound_by_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[24];
    int left = n;
    for (int i = 0; i < 24; ++i) kept[i] = in[t * 24 + i];
    float s = 0.0f;
#define n (left - (int)(s > 1.0f))
    for (int i = 0; i < n; ++i) {
        s += kept[i] * kept[i];
        if (order[t + i] & 1) s += (float)m;
    }
#undef n
    out[t] = s;
}
