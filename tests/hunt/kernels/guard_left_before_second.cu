// launch: n = 0, 1, 5, 12; m = 0, 2
// rounds beyond the second array are left before they access it
extern "C" __global__ void guard_left_before_second(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], c[6];
    int last = 0;
    for (int i = 0; i < n; ++i) {
        a[i] = in[t * 12 + i] * (1 + m);
        last = i;
        if (i == 5) continue;
        if (i > 5) continue;
        c[i] = a[i] + order[t + i] % 5;
    }
    float s = last;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    for (int i = 0; i < n && i < 5; ++i) s -= c[i];
    out[t] = s;
}
