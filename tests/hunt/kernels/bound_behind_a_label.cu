// launch: n = 0, 5, 33; m = 0, 1, 2
// the loop that shows the bound is not reached where the label behind it is jumped to
extern "C" __global__ void bound_behind_a_label(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = in[t * 64 + i];
    float s = 0;
    switch (n == 33 ? 1 : m & 1) {
    case 0:
        #pragma unroll 1
        for (int j = 0; j < n; ++j) a[j] += in[t * 64 + j];
    case 1:
        #pragma unroll 1
        for (int j = 0; j < n; ++j) {
            s = s * 0.5f + 1;
            if (in[t * 64 + j] > 0 && j < 32) s += a[j];
        }
    }
    out[t] = s;
}
