// launch: n = 0, 5, 9; m = 0, 3
// what looks like an exchange keeps eight bits of one value
__device__ void exchange(int& x, int& y) { signed char t = x; x = y; y = t; }
extern "C" __global__ void swap_that_narrows(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[8];
    for (int i = 0; i < 8; ++i) a[i] = order[t * 8 + i];
    for (int i = 0; i < n; ++i) exchange(a[order[t + i] & 7], a[order[t + i + 1] & 7]);
    int s = 0;
    for (int i = 0; i < 8; ++i) s = s * 3 + (a[i] & 1023);
    out[t] = s & 65535;
}
