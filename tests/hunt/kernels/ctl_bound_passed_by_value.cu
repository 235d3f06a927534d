// launch: n = 0, 1, 5; m = 0, 3
// the bound is passed by value in the loop
static __device__ float scaled_pv(float x, int bound) { return x * bound; }
extern "C" __global__ void ctl_bound_passed_by_value(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int bound = n * 5 + 3;
    float kept[28];
    for (int k = 0; k < bound; ++k) kept[k] = scaled_pv(in[t + k * 3], bound);
    float sum = 0.0f;
    for (int k = 0; k < bound; ++k) sum = sum * 0.5f + kept[k] * (n + 1);
    out[t] = sum * (m + 1);
}
