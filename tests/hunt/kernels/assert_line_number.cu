// launch: n = 1, 5, 12; m = 0, 3
// error codes are line numbers
#define ERR() (-(float)__LINE__)
extern "C" __global__ void assert_line_number(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i)
        a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        if (a[n - 1 - i] > 0.95f) { s = ERR(); break; }
        s = s * 0.5f + a[n - 1 - i];
    }
    out[t] = s > -2.0f ? s : s + ERR();
}
