// launch: n = 0, 1, 5, 12; m = 0, 3
// `elif_positive` and `loop` are macros; `loop` hides the for with a counter nobody sees
#define loop(times) for (int it_ = 0; it_ < (times); ++it_)
#define elif_positive(x) else if ((x) > 0)
extern "C" __global__ void if_else_macro_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int k = 0;
    loop(n) a[k++] = in[t * 12 + it_];
    float s = 0.0f;
    loop(n) { --k; if (a[k] > 0.7f) break; elif_positive(a[k]) s = s * 0.5f + a[k]; else loop(2) s -= a[k] * 0.25f; }
    out[t] = s + 16.0f * k;
}
