// launch: n = 1, 5, 12; m = 0, 3
// size() looks like a getter and is not
struct Feed { int left; __device__ int size(int n) { return left > 0 ? (--left, n) : 0; } };
extern "C" __global__ void bound_function_pure_looking(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Feed f = { 4 + (order[t] & 7) };
    float a[12] = {};
    for (int i = 0; i < f.size(n); ++i) a[i] = in[t * 12 + i] - 2.0f;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    out[t] = s + f.left;
}
