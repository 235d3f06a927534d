// launch: n = 1, 5, 12; m = 0, 3
// NEIGHBOUR looks like arithmetic and is a warp shuffle: all lanes must come here in every round
#define NEIGHBOUR(x) __shfl_xor_sync(0xffffffffu, (x), 1)
extern "C" __global__ void macro_shuffle_neighbour(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int lim = 1 + order[t] % n;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = i < lim ? in[t * 12 + i] : 0.125f;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + NEIGHBOUR(a[order[t + i] % n]) - (i < lim ? a[i] : 0.5f);
    out[t] = s;
}
