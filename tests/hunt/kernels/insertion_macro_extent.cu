// launch: n = 0, 1, 5, 20; m = 0, 3
// W is `1 << 3`: as an extent 8, less one something else
#define W 1 << 3
extern "C" __global__ void insertion_macro_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[W];
    for (int i = 0; i < 8; ++i) a[i] = i * 0.125f;
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 20 + i];
        int at = order[t * 20 + i] & 7;
        while (at > 0 && a[at - 1] > x) {
            a[at] = a[at - 1];
            --at;
        }
        a[at] = x;
    }
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.75f + a[i];
    out[t] = s;
}
