// launch: n = 0, 1, 5, 8; m = 0, 3
// `clamp_to` looks like a function; it assigns to its second argument
#define clamp_to(lim, x) ((x) > (lim) ? ((x) = (lim)) : (x))
extern "C" __global__ void macro_lower_case_min(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    int last = n + 2;
    for (int i = 0; i < clamp_to(n, last); ++i)
        a[i] = in[t * 8 + i] * 2.0f;
    float s = 0.0f;
    for (int i = 0; i < last; ++i)
        s += a[i] * (float)(i + 1) + a[order[t + i] % last];
    out[t] = s;
    out[t + 8192] = (float)last;
}
