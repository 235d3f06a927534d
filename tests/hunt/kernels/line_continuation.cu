// launch: n = 0, 1, 5, 12; m = 0, 3
// a backslash at the end of a comment swallows the next line \
    for (int i = 0; i < 99; ++i) {
extern "C" __global__ void line_continuation(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12]; // twelve values, of which n are used \
    int n = 3;
    f\
or (int i = 0; i < \
n; ++i) a[i] \
= in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n /* was 12 */; ++i) // { not a brace
        s = s * 0.5f + a[/* i */ n - 1 - i];
    out[t] = s;
}
