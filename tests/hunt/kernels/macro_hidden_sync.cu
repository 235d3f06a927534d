// launch: n = 1, 5, 12; m = 0, 3
// a barrier in a macro in the body of the loop; n is the same for all threads
#define STEP_DONE() __syncthreads()
extern "C" __global__ void macro_hidden_sync(const float* in, const int* order, float* out, int n, unsigned m)
{
    __shared__ float pass[128];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float mine[12];
    for (int i = 0; i < n; ++i) {
        pass[threadIdx.x] = in[t * 12 + i];
        STEP_DONE();
        mine[i] = pass[(threadIdx.x + i + 1) & 127];
        STEP_DONE();
    }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + mine[order[t + i] % n];
    out[t] = s;
}
