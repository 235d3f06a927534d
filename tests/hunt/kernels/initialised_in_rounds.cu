// launch: n = 0, 3, 9; m = 0, 3
// the row has its first values again in each round
extern "C" __global__ void __launch_bounds__(128) initialised_in_rounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int h = 0;
    for (int r = 0; r < n; ++r) {
        int w[9] = {r, 2, 3, 4, 5, 6, 7, 8, 9};
        unsigned short z[7] = {9, 9};
        for (int i = 0; i < 4; ++i) {
            const int v = order[t * 16 + r + i] & 0xff;
            w[v % 9] += i + z[v % 7];
            z[(v >> 2) % 7] += w[(v >> 3) % 9];
        }
        h = h * 3 % 65521 + w[order[t + r] & 7] + z[order[t + r] % 7 < 0 ? 0 : order[t + r] % 7];
    }
    out[t] = (float)h;
}
