// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// The bound that a loop counts down to is unsigned: -1 is more than all of it.
extern "C" __global__ void countdown_to_an_unsigned_bound(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = in[k] + i;
    int bound = (int)m - 1;
    for (int k = 7; k > (unsigned)bound; --k) a[k] = a[k - 1] * 0.5f;
    for (int k = 6; k >= bound && k >= 0; k -= 2) a[k + 1] += a[k];
    out[i] = a[order[0] & 7] + a[7];
}
