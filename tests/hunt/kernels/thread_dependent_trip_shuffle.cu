// launch: n = 1, 5, 12; m = 0, 3
// shuffle inside a loop with a bound that is the same in the warp
extern "C" __global__ void thread_dependent_trip_shuffle(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    const int lim = order[t >> 5] % n + 1;
    for (int i = 0; i < lim; ++i) a[i] = __shfl_xor_sync(0xffffffffu, in[t * 12 + i], (i & 15) + 1);
    float s = 0.0f;
    for (int i = 0; i < lim; ++i) s = s * 0.5f + __shfl_down_sync(0xffffffffu, a[lim - 1 - i], 1);
    out[t] = s;
}
