// launch: n = 0, 1, 5, 12; m = 0, 3
extern "C" __global__ void infinite_for_break(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0;; ++i) { if (i >= n) break; a[i] = in[t * 12 + i]; }
    float s = 0.0f;
    int i = 0;
    for (;; i++) {
        if (i == n) { s += 4.0f; break; }
        if (a[n - 1 - i] > 0.8f) break;
        s = s * 0.5f + a[n - 1 - i];
    }
    out[t] = s + i * 8.0f;
}
