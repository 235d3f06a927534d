// launch: n = 0, 3, 11; m = 0, 3
// assigned values that an initializer list may not convert: narrowing in braces is an error of the host compiler
__host__ __device__ inline float weigh(int at)
{
    float w[12];
    w[0] = 0.5f; w[1] = 2; w[2] = 3.25f; w[3] = -0.0f; w[4] = 16777217; w[5] = 8;
    w[6] = 9; w[7] = 1; w[8] = 0.125f; w[9] = 300; w[10] = 123456789; w[11] = 7;
    return w[at];
}
extern "C" __global__ void table_narrowing(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = weigh((t + n) % 12) * in[t];
}
