// launch: n = 0, 1, 5, 8, 12; m = 0, 3
// what the loop does behind the array, and its counter behind the loop
extern "C" __global__ void ends_early_with_its_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) a[i] = in[t + i];
    float s = 0;
    int i;
    for (i = 0; i < n; ++i) {
        if (i < 8) s = s * 0.5f + a[i];
        s += 1;
    }
    for (int k = 0; k < n; ++k) {
        if (order[t + k] & 1) continue;
        if (k > 7) { s += 0.25f; break; }
        s = s * 0.5f + a[k];
    }
    out[t] = s + i;
}
