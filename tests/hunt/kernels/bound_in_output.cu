// launch: n = 1, 5, 12; m = 0, 3
// the bound is in global memory, and the body writes there
extern "C" __global__ void bound_in_output(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int* count = (int*)out + 8192 + t;
    *count = n;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < *count; ++i) { a[order[t + i] % 12] -= a[i]; if (a[i] > 0.5f) --*count; }
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
