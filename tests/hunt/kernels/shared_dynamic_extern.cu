// launch: n = 1, 5, 12; m = 0, 3
// declares dynamic shared memory (none is launched with, none is touched unless m is 77)
extern __shared__ float pool[];
extern "C" __global__ void shared_dynamic_extern(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (m == 77) pool[threadIdx.x] = in[t];
    int hist[24] = {};
    for (int i = 0; i < n; ++i) hist[order[t * 12 + i] % 24] += i + 1;
    int s = 0;
    for (int k = 0; k < 24; ++k) s = (s * 3 + hist[k]) & 0xfffff;
    out[t] = (float)s + (m == 77 ? pool[threadIdx.x ^ 1] : 0.0f);
}
