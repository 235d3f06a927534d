// launch: n = 0, 1, 20, 25; m = 0, 3
// the check is of another number, or counts for some threads alone
extern "C" __global__ void return_for_other_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[20];
    for (int k = 0; k < 20; ++k) a[k] = in[t * 20 + k];
    if (m > 20) return;
    if (n > 20 && (order[t] & 1)) return;
    for (int i = 0; i < n; ++i) {
        out[t * 32 + i] = i;
        if (i < 20) out[t * 32 + i] += a[i];
    }
}
