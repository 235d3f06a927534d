// launch: n = 0, 1, 5, 12; m = 0, 3
// continue inside a switch inside the loop, break that leaves only the switch
extern "C" __global__ void switch_fall_through(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        switch (order[t * 12 + i] & 7) {
        case 0: continue;
        case 1: s += a[i]; [[fallthrough]];
        case 2: s *= 0.5f; break;
        case 3: i += 1; break;
        case 4: s -= a[n - 1 - i];
        default: s = s * 0.25f + a[i];
        }
        s += 1.0f;
    }
    out[t] = s;
}
