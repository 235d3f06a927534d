// launch: n = 0, 1, 5, 20; m = 0, 3
// all threads of a warp move as long as one of them does
extern "C" __global__ void insertion_across_lanes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = i * 0.125f;
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 20 + i];
        int at = 7 - (i & 3);
        while (at > 0 && __any_sync(~0u, a[at - 1] > x)) {
            a[at] = a[at - 1];
            --at;
        }
        a[at] = x;
    }
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.75f + a[i];
    out[t] = s;
}
