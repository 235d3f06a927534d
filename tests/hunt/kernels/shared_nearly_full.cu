// launch: n = 1, 5, 16; m = 0, 3
// 40 KB of static shared memory are in use: 16 x 128 x 4 more do not fit below 48 KB
extern "C" __global__ void shared_nearly_full(const float* in, const int* order, float* out, int n, unsigned m)
{
    __shared__ float big[10400];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = threadIdx.x; i < 10400; i += 128) big[i] = in[i] + m;
    __syncthreads();
    float hist[16] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 16 + i] & 15] += big[(order[t * 16 + i] >> 4) % 10400];
    float s = 0.0f;
    for (int k = 0; k < 16; ++k) s = s * 0.5f + hist[k];
    out[t] = s;
}
