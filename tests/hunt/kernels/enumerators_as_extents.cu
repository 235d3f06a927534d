// launch: n = 0, 1, 5, 6, 8; m = 0, 3
// enumerators count on, and a function has one of the same name
enum { FIRST = 2, SECOND, COUNT = SECOND + 3, ALL };
__device__ float of_function(const float* in, int n)
{
    enum { COUNT = 8 };
    float a[COUNT];
    for (int i = 0; i < COUNT; ++i) a[i] = in[i];
    float s = 0;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    return s;
}
extern "C" __global__ void enumerators_as_extents(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[ALL];
    for (int i = 0; i < ALL; ++i) a[i] = in[t + i];
    const int bound = n < ALL ? n : ALL;
    float s = 0;
    for (int i = 0; i < bound; ++i) s = s * 0.5f + a[i];
    out[t] = s + of_function(in + t, n) + SECOND;
}
