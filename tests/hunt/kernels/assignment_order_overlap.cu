// launch: n = 0, 1, 5, 12; m = 0, 3
// later writes win: the order of equal keys matters
extern "C" __global__ void assignment_order_overlap(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float slot[7] = {1, 2, 3, 4, 5, 6, 7};
    int from[7] = {};
    for (int i = 0; i < n; ++i) {
        const int k = order[t * 12 + i] % 7, l = order[t * 12 + i + 1] % 7;
        slot[k] = slot[l] + in[t * 12 + i];
        slot[l] = slot[k] - slot[(k + l) % 7];
        from[k] = i + 1; from[l] ^= i;
    }
    for (int k = 0; k < 7; ++k) { out[t * 14 + k] = slot[k]; out[t * 14 + 7 + k] = (float)from[k]; }
}
