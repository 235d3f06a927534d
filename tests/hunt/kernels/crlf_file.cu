// launch: n = 0, 1, 5, 12; m = 0, 3
// lines end in CR LF, and a macro runs over two of them
#define ADD(i) \
    s = s * 0.5f + a[(i)]; \
    if (s > 0.9f) break
extern "C" __global__ void crlf_file(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int i;
    for (i = 0; i < n; ++i)
        a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (i = 0; i < n; ++i) {
        ADD(n - 1 - i);
    }
    out[t] = s + i;
}
