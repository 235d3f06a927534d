// launch: n = 0, 1, 5, 12; m = 0, 3
// MAX evaluates the larger argument twice, and the argument moves a cursor
#define MAX(a, b) ((a) > (b) ? (a) : (b))
extern "C" __global__ void macro_argument_twice(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    int at = 0;
    for (int i = 0; i < 32; ++i) a[i] = in[t * 32 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) { s = s * 0.5f + MAX(a[at++], 0.25f); a[order[t + i] & 31] -= s; }
    out[t] = s + 8.0f * at;
}
