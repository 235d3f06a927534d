// launch: n = 0, 1, 7, 16; m = 0, 3
// control
extern "C" __global__ void memcpy_run_time(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16] = {};
    memcpy(a, in + t * 16, n * sizeof(float));
    float s = 0.0f;
    for (int i = 0; i < 16; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
