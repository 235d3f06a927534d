// launch: n = 0, 1, 40; m = 0, 3
// each flag is turned over, and the loop that clears them does nothing else
extern "C" __global__ void flags_toggled(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool on[40];
    for (int i = 0; i < 40; i++)
        on[i] = false;
    for (int i = 0; i < n; ++i) {
        const int k = (order[t * 40 + i] & 0x7fffffff) % 40;
        on[k] = !on[k];
        if (in[t + i] > 0.5f) on[(k + m) % 40] = !on[(k + m) % 40];
    }
    float sum = 0.0f;
    for (int i = 0; i < 40; ++i) sum = sum * 0.75f + on[i];
    out[t] = sum;
}
