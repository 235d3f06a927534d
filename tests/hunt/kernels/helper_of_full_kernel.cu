// launch: n = 0, 3, 40; m = 0
// the array is a helper's, and the other kernel that calls it is launched with 40 KiB of dynamic shared memory
static __device__ int modal(const int* order, int t, int n)
{
    int bin[40] = {};
    for (int i = 0; i < n; ++i) bin[order[t + i] % 40] += i + 1;
    int s = 0;
    for (int k = 0; k < n; ++k) s = s * 3 + bin[order[t + k + 1] % 40];
    return s & 0xffff;
}

extern "C" __global__ void __launch_bounds__(128) helper_of_full_kernel(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * 128 + threadIdx.x;
    out[t] = (float)modal(order, t, n);
}

static __global__ void __launch_bounds__(128) full(const int* order, float* out, int n, int words)
{
    extern __shared__ int staged[];
    const int t = blockIdx.x * 128 + threadIdx.x;
    for (int i = threadIdx.x; i < words; i += 128) staged[i] = i * 3;
    __syncthreads();
    out[t] = (float)(modal(order, t, n) + staged[t % words]);
}

void start(const int* order, float* out, int words) { full<<<64, 128, words * sizeof(int)>>>(order, out, 40, words); }
