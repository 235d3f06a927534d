// launch: n = 0, 3, 40; m = 0
// a configuration adds 40 KiB of dynamic shared memory: 20 KiB more do not fit
extern "C" __global__ void __launch_bounds__(128) launched_by_configuration(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int bin[40] = {};
    for (int i = 0; i < n; ++i) bin[order[t + i] % 40] += i + 1;
    int s = 0;
    for (int k = 0; k < n; ++k) s = s * 3 + bin[order[t + k + 1] % 40];
    out[t] = (float)(s & 0xffff);
}

void start(const float* in, const int* order, float* out)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(64);
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = 40 << 10;
    cudaLaunchKernelEx(&config, launched_by_configuration, in, order, out, 40, 0u);
}
