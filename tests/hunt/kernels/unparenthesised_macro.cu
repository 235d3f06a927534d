// launch: n = 0, 5, 8; m = 0, 3
// W is `4 + 4`: as an extent 8, after % something else
#define W 4 + 4
extern "C" __global__ void unparenthesised_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[W], b[W * 2];
    for (int i = 0; i < n; ++i) a[i] = in[t * 8 + i];
    for (int i = 0; i < W * 2; ++i) b[i] = (float)i;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) { s = s * 0.5f + a[i] + b[order[t * 8 + i] % W]; b[order[t + i] % 12] = s; }
    out[t] = s;
}
