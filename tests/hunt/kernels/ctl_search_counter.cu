// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_search_counter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int slot[12];
    for (int i = 0; i < n; ++i) slot[i] = order[t * 12 + i] & 15;
    int sum = 0;
    for (int r = 0; r < 32; ++r) {
        const int key = order[t * 32 + r] & 15;
        int i;
        for (i = 0; i < n; ++i) if (slot[i] == key) break;
        sum = sum * 3 + (i < n ? i : -1) + m;
    }
    out[t] = sum & 65535;
}
