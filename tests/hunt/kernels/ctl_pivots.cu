// launch: n = 0, 1, 3, 5; m = 0
// elimination with pivots, in a helper that gets a flat array by reference
constexpr int N = 5;
__device__ inline bool factor(float (&a)[N * N], int (&perm)[N], int n)
{
    for (int k = 0; k < n; ++k) {
        int best = k;
        float largest = fabsf(a[k * N + k]);
        for (int r = k + 1; r < n; ++r) {
            const float v = fabsf(a[r * N + k]);
            if (v > largest) {
                largest = v;
                best = r;
            }
        }
        if (largest < 1e-3f)
            return false;
        perm[k] = best;
        if (best != k) {
            for (int c = 0; c < n; ++c) {
                const float x = a[k * N + c];
                a[k * N + c] = a[best * N + c];
                a[best * N + c] = x;
            }
        }
        for (int r = k + 1; r < n; ++r) {
            a[r * N + k] /= a[k * N + k];
            for (int c = k + 1; c < n; ++c)
                a[r * N + c] -= a[r * N + k] * a[k * N + c];
        }
    }
    return true;
}
extern "C" __global__ void ctl_pivots(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[N * N];
    int perm[N];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            a[i * N + j] = in[(t * N + i) * N + j];
    const bool ok = factor(a, perm, n);
    float s = 0;
    for (int i = 0; i < n; ++i)
        s = s * 0.5f + (ok ? perm[i] : -1);
    out[t] = s;
}
