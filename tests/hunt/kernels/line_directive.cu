// launch: n = 0, 1, 5, 12; m = 0, 3
// #line gives other numbers to the lines
extern "C" __global__ void line_directive(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int calls = 0;
#line 7
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
#line 5 "generated.cuh"
    int i;
    for (i = 0; i < n; ++i) { s = s * 0.5f + a[n - 1 - i]; ++calls; }
    out[t] = s + i + calls * 16;
}
