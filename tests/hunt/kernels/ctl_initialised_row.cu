// launch: n = 0, 3, 40; m = 0, 3
// control
extern "C" __global__ void __launch_bounds__(128) ctl_initialised_row(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int lane[5] = {5, -4, 3, n, (int)m};
    unsigned char acc[12] = {1};
    for (int i = 0; i < n; ++i) {
        const int v = order[t * 40 + i] & 0xff;
        lane[v % 5] += acc[v % 12];
        acc[(v >> 3) % 12] += lane[(v >> 1) % 5] & 3;
    }
    int h = 0;
    for (int i = 0; i < 5; ++i) h = h * 3 % 65521 + lane[i];
    for (int i = 0; i < 12; ++i) h = h * 5 % 65521 + acc[i];
    out[t] = (float)h;
}
