// launch: n = 0, 1, 5, 20; m = 0, 3
// the pointer is to the middle, so that the counter goes below zero
extern "C" __global__ void insertion_below_zero(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = i * 0.0625f;
    float* p = a + 4;
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 20 + i];
        int at = (order[t * 20 + i] & 7) - 3;
        while (at > -3 && p[at - 1] > x) {
            p[at] = p[at - 1];
            --at;
        }
        p[at] = x;
    }
    float s = 0.0f;
    for (int i = 0; i < 12; ++i) s = s * 0.75f + a[i];
    out[t] = s;
}
