// launch: n = 0, 1, 5, 12; m = 0, 3
// control: `float* volatile p` where a pointer to volatile was meant
extern "C" __global__ void volatile_pointer_mix(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float* volatile p = out + t * 2;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + in[t * 12 + i];
    p[0] = s;
    p[1] = s + m;
}
