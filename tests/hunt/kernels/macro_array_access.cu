// launch: n = 0, 1, 5, 12; m = 0, 3
// the array is only ever used through a macro with its own arithmetic; `cell` is also a function
#define cell(i) store[((i) * 5) % 12]
static __device__ __forceinline__ float (cell)(float x) { return x * 0.5f; }
extern "C" __global__ void macro_array_access(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float store[12];
    for (int i = 0; i < 12; ++i) cell(i) = in[t * 12 + i];
    for (int i = 0; i < n; ++i) cell(order[t + i] & 63) += (cell)(cell(i));
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + cell(i);
    out[t] = s;
}
