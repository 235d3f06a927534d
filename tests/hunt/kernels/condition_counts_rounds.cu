// launch: n = 0, 1, 5, 12; m = 0, 3
// the condition has an effect, which one evaluation less would lose
extern "C" __global__ void condition_counts_rounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int asked = 0;
    for (int i = 0; ++asked > 0 && i < n; ++i) a[i] = in[t * 12 + i] + m;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s + asked;
}
