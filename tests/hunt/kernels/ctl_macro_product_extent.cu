// launch: n = 0, 5, 12; m = 0, 3
// an extent that is a product of one macro
#define RADIUS 1
#define WIDTH (2 * RADIUS + 1)
extern "C" __global__ void ctl_macro_product_extent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float h[WIDTH * WIDTH] = {};
    for (int i = 0; i < n; ++i) h[order[t * 12 + i] % (WIDTH * WIDTH)] += in[t * 12 + i];
    float s = m;
    for (int k = 0; k < WIDTH * WIDTH; ++k) s = s * 0.5f + h[k];
    out[t] = s;
}
