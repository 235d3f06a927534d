// launch: n = 0, 1, 5, 12; m = 0, 3
// everything in one line: several loops and declarations have the same line number
extern "C" __global__ void one_line_kernel(const float* in, const int* order, float* out, int n, unsigned m) { const int t = blockIdx.x * blockDim.x + threadIdx.x; float a[12], b[12]; int i, j; for (i = 0; i < n; ++i) a[i] = in[t * 12 + i]; for (j = n; j > 0; --j) b[j - 1] = a[n - j]; float s = 0; for (i = 0; i < n && b[i] < 0.9f; ++i) s = s * 0.5f + a[i] - b[i] * 2; out[t] = s + 16 * i + j; }
