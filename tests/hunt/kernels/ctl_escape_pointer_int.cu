// launch: n = 0, 1, 5, 12; m = 0, 3
// control
static __device__ __noinline__ int next(unsigned* state) { *state = *state * 1664525u + 1013904223u; return (int)(*state >> 20); }
extern "C" __global__ void ctl_escape_pointer_int(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = order[t];
    int s = 0;
    for (int i = 0; i < n; ++i) s = (s * 3 + next(&state)) & 0xffff;
    out[t] = (float)s;
}
