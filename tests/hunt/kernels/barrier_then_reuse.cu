// launch: n = 2, 5, 12; m = 0, 3
// control: local rows, barriers outside the loops that walk them
extern "C" __global__ void barrier_then_reuse(const float* in, const int* order, float* out, int n, unsigned m)
{
    __shared__ float total[128];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    total[threadIdx.x] = a[order[t] % n];
    __syncthreads();
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i] + total[(threadIdx.x + 1) & 127];
    out[t] = s;
}
