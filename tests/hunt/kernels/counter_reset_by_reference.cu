// launch: n = 3, 8, 20; m = 1, 4
// a reference sets the counter back before the array ends
extern "C" __global__ void counter_reset_by_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = in[t * 8 + i];
    int rounds = 0;
    for (int i = 0; i < n; ++i) {
        int& place = i;
        if (place == 8) place = m;
        a[place] += 1.0f;
        if (++rounds > 40) break;
    }
    float s = 0.0f;
    for (int i = 0; i < 8 && i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s + rounds;
}
