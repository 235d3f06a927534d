// launch: n = 1, 4, 8; m = 0, 3
// `width` is a variable outside and a macro inside the second half of the file
__device__ __forceinline__ int cells(int n) { const int width = n; return width; }
#define width (n / 2)
extern "C" __global__ void macro_name_is_variable(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < cells(n); ++i) a[i] = in[t * 8 + i];
    float s = 0;
    for (int i = 0; i < width; ++i) {
        a[i] += 2.0f;
#undef width
#define width (n)
        s += a[order[t + i] % width];
    }
    for (int i = 0; i < width; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
