// launch: n = 1, 5, 12; m = 0, 3
// control: barriers inside the loop, n is the same for all threads
extern "C" __global__ void ctl_barrier_uniform(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float pass[128];
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        pass[threadIdx.x] = a[n - 1 - i];
        __syncthreads();
        s = s * 0.5f + pass[127 - threadIdx.x];
        __syncthreads();
    }
    out[t] = s;
}
