// launch: n = 0, 5, 60; m = 0, 3
// integers that are mostly 0 and 1, and sometimes more
extern "C" __global__ void __launch_bounds__(128) flags_with_two(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int taken[24] = {0};
    int h = 0;
    for (int i = 0; i < n; ++i) {
        const int v = order[t * 60 + i] & 0xffff;
        if (taken[v % 24] == 2) ++h;
        taken[v % 24] = 1;
        if (v & 64) taken[(v + 5) % 24] = v & 128 ? 2 : 0;
        h += taken[(v + 9) % 24] << 2;
    }
    for (int i = 0; i < 24; ++i) h = h * 2 % 65521 + taken[i];
    out[t] = (float)h;
}
