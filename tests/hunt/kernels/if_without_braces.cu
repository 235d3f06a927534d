// launch: n = 0, 1, 5, 12; m = 0, 3
// a pragma or a second statement in front of the for would change what the if covers
extern "C" __global__ void if_without_braces(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    if (m)
        for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    else for (int i = 0; i < n; ++i)
        a[n - 1 - i] = -in[t * 12 + i];
    float s = 0.0f;
    if (n > 3) for (int i = 0; i < n; ++i) if (a[i] > 0) s = s * 0.5f + a[i]; else s -= 1.0f;
    else s = 7.0f;
    out[t] = s;
}
