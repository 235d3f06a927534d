// launch: n = 0, 1, 9; m = 0, 3
// assembly that nothing needs but for its carry
__device__ unsigned low_sum(unsigned a, unsigned b)
{
    unsigned low;
    asm("add.cc.u32 %0, %1, %2;" : "=r"(low) : "r"(a), "r"(b));
    return low;
}
extern "C" __global__ void carry_behind_volatile(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = in[t] * 0.0f;
    for (int i = 0; i < n; ++i) {
        volatile unsigned low[2] = {0, 0};
        unsigned high = order[t + i + 1];
        low[i & 1] = low_sum(0u - (unsigned)order[t + i], 0x60000000u + m);
        asm("addc.u32 %0, %0, %1;" : "+r"(high) : "r"(m));
        sum = sum * 0.5f + (high & 255);
    }
    out[t] = sum;
}
