// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_counter_in_body(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int kept = 0;
    float s = 0.0f;
    for (int i = t * 16; i < t * 16 + n; i += 1) {
        a[kept] = in[i] + m;
        s = s * 0.5f + a[kept++];
    }
    for (int k = 0; k < kept; ++k) s = s * 0.5f + a[k];
    out[t] = s + kept;
}
