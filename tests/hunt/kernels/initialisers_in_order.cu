// launch: n = 1, 5; m = 0, 3
// values of an initializer that the next declarator changes
extern "C" __global__ void __launch_bounds__(128) initialisers_in_order(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int k = order[t] & 3;
    int lane[4] = {k, k + 1, 7, k * 2}, next = k += 2, last[3] = {next, k, 1};
    for (int i = 0; i < n; ++i) {
        const int v = order[t * 8 + i] & 0xff;
        lane[v & 3] += last[v % 3] + k;
        last[(v >> 2) % 3] ^= lane[(v >> 4) & 3];
    }
    out[t] = (float)(lane[0] + lane[1] * 3 + lane[2] * 5 + lane[3] * 7 + last[0] + last[1] * 2 + last[2] + next);
}
