// launch: n = 0, 1, 20, 40; m = 0, 3
// the clamp holds only until the bound is raised
extern "C" __global__ void clamped_then_raised(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[20];
    for (int k = 0; k < 20; ++k) a[k] = in[t * 20 + k];
    int last = min(n, 20);
    if (m > 0) last += 4;
    for (int i = 0; i < last; ++i) {
        out[t * 32 + i] = i;
        if (i < 20) out[t * 32 + i] += a[i];
    }
}
