// launch: n = 1, 5, 12; m = 0, 3
// CHECK leaves the kernel
#define CHECK(c) do { if (!(c)) { out[t] = -1000.0f - i; return; } } while (0)
extern "C" __global__ void macro_return_inside(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) {
        a[i] = in[t * 12 + i];
        CHECK(a[i] < 0.9f);
    }
    float s = 0;
    for (int i = 0; i < n; ++i) {
        CHECK(a[i] * s < 0.5f);
        s = s * 0.25f + a[n - 1 - i];
    }
    out[t] = s;
}
