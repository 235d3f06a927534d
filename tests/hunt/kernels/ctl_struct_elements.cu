// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_struct_elements(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    struct P { float x; int k; } a[12];
    for (int i = 0; i < n; ++i) { a[i].x = in[t * 12 + i]; a[i].k = order[t * 12 + i] & 7; }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i].x + a[i].k;
    out[t] = s;
}
