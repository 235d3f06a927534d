// launch: n = 0, 1, 8; m = 0, 1
// another build has a larger array
extern "C" __global__ void if_other_extent(const float* in, const int* order, float* out, int n, unsigned m) {
#ifdef LARGE
    constexpr int MOST = 16;
#else
    constexpr int MOST = 8;
#endif
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[MOST];
#pragma unroll 1
    for (int i = 0; i < n; i++) w[i] = in[t * 8 + i];
    float sum = m;
#pragma unroll 1
    for (int i = 0; i < n; i++) sum += w[i] * w[0];
    out[t] = sum;
}
