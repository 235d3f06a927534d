// launch: n = 0, 1, 5, 20; m = 0, 3
// the first element that is larger ends the search, and the rest moves up
extern "C" __global__ void ctl_scan_shift_break(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float best[8];
    int which[8];
    for (int k = 0; k < 8; ++k) {
        best[k] = 1e30f;
        which[k] = -1;
    }
    for (int i = 0; i < n; ++i) {
        const float d = in[t * 20 + i] + m;
        for (int p = 0; p < 8; ++p) {
            if (d < best[p]) {
                for (int q = 7; q > p; --q) {
                    best[q] = best[q - 1];
                    which[q] = which[q - 1];
                }
                best[p] = d;
                which[p] = i;
                break;
            }
        }
    }
    float s = 0.0f;
    for (int k = 0; k < 8; ++k) s = s * 0.75f + (which[k] < 0 ? 0.5f : best[k] * (which[k] + 1));
    out[t] = s;
}
