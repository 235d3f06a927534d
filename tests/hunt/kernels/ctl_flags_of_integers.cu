// launch: n = 0, 5, 60; m = 0, 3
// control
extern "C" __global__ void __launch_bounds__(128) ctl_flags_of_integers(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int taken[24] = {0};
    unsigned char open[40] = {};
    int h = 0;
    for (int i = 0; i < n; ++i) {
        const int v = order[t * 60 + i] & 0xffff;
        if (taken[v % 24]) ++h;
        taken[v % 24] = 1;
        open[v % 40] = v > 30000;
        open[(v >> 2) % 40] |= !(v & 7);
        open[(v >> 3) % 40] &= v;
        if (v & 64) taken[(v + 5) % 24] = 0;
        h += (taken[(v + 9) % 24] << 2) - open[(v >> 5) % 40] * 3;
    }
    for (int i = 0; i < 24; ++i) h = h * 2 % 65521 + taken[i];
    for (int i = 0; i < 40; ++i) h = h * 3 % 65521 - open[i];
    out[t] = (float)h;
}
