// launch: n = 1, 5, 12; m = 0, 3
// the loop ends at the first element that is too large; later small ones must not be seen
#define SMALL(x) ((x) < 0.6f)
extern "C" __global__ void macro_cond_not_monotone(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float key[12];
    for (int i = 0; i < 12; ++i) key[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) key[order[t + i] % 12] += 0.25f;
    float s = 0.0f;
    for (int i = 0; i < n && SMALL(key[i]); i++)
        s = s * 1.5f + key[i];
    out[t] = s + m;
}
