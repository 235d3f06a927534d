// launch: n = 0, 3, 40; m = 0
// the file's own launch has 32 threads, those of others 128
extern "C" __global__ void launched_elsewhere(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int bin[40] = {};
    for (int i = 0; i < n; ++i) bin[order[t + i] % 40] += i + 1;
    int s = 0;
    for (int k = 0; k < n; ++k) s = s * 3 + bin[order[t + k + 1] % 40];
    out[t] = (float)(s & 0xffff);
}

void small(const float* in, const int* order, float* out) { launched_elsewhere<<<4, 32>>>(in, order, out, 40, 3); }
