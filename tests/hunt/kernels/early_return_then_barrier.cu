// launch: n = 1, 5, 12; m = 0, 3
// whole warps leave before the barriers of the others
extern "C" __global__ void early_return_then_barrier(const float* in, const int* order, float* out, int n, unsigned m)
{
    __shared__ float row[128];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    for (int i = 0; i < n; ++i) a[order[t + i] % 12] += in[t * 12 + i];
    row[threadIdx.x] = 1.0f;
    __syncthreads();
    if (threadIdx.x >= 96) { out[t] = a[order[t] % 12]; return; }
    row[threadIdx.x] = a[3];
    __syncthreads();
    float s = row[(threadIdx.x + 1) % 96];
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    out[t] = s;
}
