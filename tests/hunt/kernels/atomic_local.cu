// launch: n = 0, 3, 12; m = 0, 3
// atomics on shared and on global memory inside the guarded loop: one extra round counts
extern "C" __global__ void atomic_local(const float* in, const int* order, float* out, int n, unsigned m)
{
    __shared__ int total;
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int a[12];
    for (int i = 0; i < n; ++i) { a[i] = order[t * 12 + i] & 255; atomicAdd(&total, 1); }
    int s = 0;
    for (int i = 0; i < n && atomicAdd(&total, 2) >= 0; ++i) s = (s * 3 + a[n - 1 - i]) & 0xffff;
    __syncthreads();
    out[t] = (float)s;
    out[8192 + t] = (float)total;
}
