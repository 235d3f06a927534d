// launch: n = 0, 1, 5, 10; m = 0, 4, 7
// the condition counts its own evaluations
#define SPEND(b) ((b)-- > 0)
extern "C" __global__ void macro_cond_side_effect(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[10] = {};
    int budget = (int)m;
    for (int i = 0; i < n && SPEND(budget); ++i)
        v[i] = in[t * 10 + i];
    float s = 0;
    for (int i = 0; i < n; ++i)
        s = s * 0.75f + v[order[t * 10 + i] % 10];
    out[t] = s + 100.0f * budget;
}
