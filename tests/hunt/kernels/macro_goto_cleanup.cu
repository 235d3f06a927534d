// launch: n = 1, 5, 10; m = 0, 3
#define FAIL(code) do { err = (code); goto done; } while (0)
extern "C" __global__ void macro_goto_cleanup(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int err = 0, i;
    float a[10], s = 0.0f;
    for (i = 0; i < n; ++i) {
        a[i] = in[t * 10 + i];
        if (a[i] > 0.85f) FAIL(1 + i);
    }
    for (i = 0; i < n; ++i) {
        const int k = order[t * 10 + i] % n;
        if (a[k] < -0.9f) FAIL(100 + i);
        s = s * 0.5f + a[k];
    }
done:
    out[2 * t] = s + (float)i;
    out[2 * t + 1] = (float)err;
}
