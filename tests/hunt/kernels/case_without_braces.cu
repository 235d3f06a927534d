// launch: n = 1, 5, 12; m = 0, 1, 2, 3
extern "C" __global__ void case_without_braces(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    int i;
    switch (m) {
    case 0: for (i = 0; i < n; ++i) s = s * 0.5f + a[i], a[order[t + i] % 12] += s; break;
    case 1: for (i = n - 1; i >= 0; --i) s = s * 0.5f + a[i];
    case 2: again: for (i = 0; i < n; ++i) a[i] += 1.0f; if (a[0] < 3.0f) goto again;
    default: for (i = 0; i < n; i++) if (i & 1) continue; else s += a[i];
    }
    out[t] = s + i + a[n > 0 ? n - 1 : 0];
}
