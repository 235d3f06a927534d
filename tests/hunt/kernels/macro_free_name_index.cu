// launch: n = 1, 5, 20; m = 0, 3
// the index is a macro with another operator than it shows
#define BIN first ^ i
extern "C" __global__ void macro_free_name_index(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float bins[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < n; ++i) {
        const int first = order[t + i] & 7;
        bins[(BIN) & 7] += in[t + i];
        bins[((int)m + BIN) & 7] -= in[t];
    }
    for (int i = 0; i < 8; ++i) out[t * 8 + i] = bins[i];
}
