// launch: n = 1, 5, 20; m = 0, 3
// the arguments of a call are a macro, and a pointer to the array is among them
#define ROW at, row, 3
__device__ __noinline__ float fold(int first, int at, float* row, int step)
{
    row[(first + at) & 7] += 0.25f;
    return row[(first + step) & 7];
}
extern "C" __global__ void macro_alias_in_arguments(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[8], *row = kept;
    for (int i = 0; i < 8; ++i) kept[i] = in[t * 8 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        const int at = order[t + i] & 7;
        s += kept[(at + (int)m) & 7];
        s += fold(i, ROW);
    }
    out[t] = s;
}
