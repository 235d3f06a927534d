// launch: n = 0, 1, 5, 12; m = 0, 3
// control: address escapes to a function that only reads
struct Setup { const float* in; const int* order; float* out; int n; unsigned m; float gain[16]; };
static __device__ __noinline__ float level(const Setup& s, int k) { return s.gain[k] + s.in[k]; }
extern "C" __global__ void read_only_by_value(Setup s)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float r = 0.0f;
    for (int i = 0; i < s.n; ++i) r = r * 0.5f + level(s, s.order[t * 12 + i] & 15);
    s.out[t] = r;
}
