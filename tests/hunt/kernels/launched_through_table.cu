// launch: n = 0, 3, 40; m = 0
// launched with 40 KiB of dynamic shared memory through a pointer, and with none by its name
extern "C" __global__ void __launch_bounds__(128) launched_through_table(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int bin[40] = {};
    for (int i = 0; i < n; ++i) bin[order[t + i] % 40] += i + 1;
    int s = 0;
    for (int k = 0; k < n; ++k) s = s * 3 + bin[order[t + k + 1] % 40];
    out[t] = (float)(s & 0xffff);
}

void start(const float* in, const int* order, float* out, int which)
{
    using Kernel = void (*)(const float*, const int*, float*, int, unsigned);
    const Kernel kernels[2] = {launched_through_table, nullptr};
    launched_through_table<<<64, 128>>>(in, order, out, 40, 0);
    kernels[which]<<<64, 128, 40 << 10>>>(in, order, out, 40, 0);
}
