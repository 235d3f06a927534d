// launch: n = 1, 33, 64; m = 0, 1, 3, 8
// The number of elements is asked before the element.
extern "C" __global__ void search_with_an_early_end(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = in[k] - in[k + 8];
    int at = 0;
    while (at < (int)m && a[at & 7] <= in[order[i & 7] & 15]) ++at;
    out[i] = at + a[order[1] & 7];
}
