// launch: n = 0, 1, 9; m = 0, 3
// an overload is chosen by whether its argument is `volatile`
__device__ float seen(volatile int& x) { return x == 987654 ? 5 : x & 255; }
__device__ float seen(int& x) { return x & 255; }
extern "C" __global__ void volatile_chooses_a_function(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = in[t];
    volatile int place = m;
    for (int i = 0; i < n; ++i) { place += order[t + i] & 255; sum = sum * 0.5f + seen(place); }
    out[t] = sum;
}
