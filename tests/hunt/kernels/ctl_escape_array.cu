// launch: n = 0, 1, 5, 12; m = 0, 3
// control
static __device__ __noinline__ void turn(float* v) { const float c = v[0]; v[0] = v[1]; v[1] = -v[2]; v[2] = c; }
extern "C" __global__ void ctl_escape_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[3] = {in[t], in[t + 1], in[t + 2]};
    for (int i = 0; i < n; ++i) turn(v);
    out[t] = v[0] + 2.0f * v[1] + 4.0f * v[2];
}
