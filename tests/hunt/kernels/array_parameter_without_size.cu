// launch: n = 0, 1, 5; m = 0, 3
// what a parameter is declared with is not the size of the array
__device__ void put(int at, float value, float a[])
{
    a[at] += value;
}
extern "C" __global__ void array_parameter_without_size(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[14];
    for (int k = 0; k < 14; ++k) a[k] = in[t + k];
    for (int x = 0; x < n * 3 + 5; ++x) put(order[(t + x * 7) & 0xfffff] % 14, in[t + x], a);
    float sum = 0.0f;
    for (int k = 0; k < 14; ++k) sum = sum * 0.75f + a[k];
    out[t] = sum * 0.125f;
}
