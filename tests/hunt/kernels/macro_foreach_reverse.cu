// launch: n = 0, 1, 5, 12; m = 0, 3
// FOREACH walks downwards in this project
#define FOREACH(i, n) for (int i = (n); i-- > 0;)
extern "C" __global__ void macro_foreach_reverse(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    FOREACH(i, n) { a[i] = in[t * 12 + i]; }
    float s = 0.0f;
    FOREACH(i, n) { s = s * 0.5f + a[i]; }
    out[t] = s;
}
