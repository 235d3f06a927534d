// launch: n = 1, 5, 12; m = 0, 3
// grid-stride loop, no fixed block size anywhere; the array lives across rounds
extern "C" __global__ void any_block_size(const float* in, const int* order, float* out, int n, unsigned m)
{
    int carry[16] = {};
    const int step = gridDim.x * blockDim.x;
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < 32768; t += step) {
        for (int i = 0; i < n; ++i) carry[order[t * 12 + i] & 15] += i + 1;
        int s = 0;
        for (int k = 0; k < 16; ++k) s = (s * 3 + carry[k]) & 0xfffff;
        out[t] = (float)s;
    }
}
