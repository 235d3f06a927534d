// launch: n = 0, 5, 12; m = 0, 3
// which table a pointer points to is compared; two equal tables must remain two
extern "C" __global__ void table_address_compared(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int low[16]  = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    const int high[16] = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    int s = 0, switched = 0;
    const int* cur = low;
    for (int i = 0; i < n; ++i) {
        const int* nxt = (order[t * 12 + i] & 16) ? low : high;
        switched += nxt != cur;
        cur = nxt;
        s += cur[order[t * 12 + i] & 15] * (cur == high ? 2 : 1);
    }
    out[t] = (float)(s + 1000 * switched);
}
