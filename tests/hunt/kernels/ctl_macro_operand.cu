// launch: n = 1, 5, 20; m = 0, 3
// macros that are expressions of other variables stand beside the array
#define SCALE (4.0f / ONE_PI)
#define AT(i, j) ((j) * stride + (i))
__device__ const float ONE_PI = 3.14159265f;
extern "C" __global__ void ctl_macro_operand(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = 8192;
    float bins[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < n; ++i) {
        const float weight = in[AT(t, i)] * SCALE;
        const int bin = (order[AT(t, i)] + (int)m) & 7;
        bins[bin] += weight;
    }
    for (int i = 0; i < 8; ++i) out[AT(t, i)] = bins[i];
}
