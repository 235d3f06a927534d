// launch: n = 0, 1, 5, 30; m = 0, 3
// control
extern "C" __global__ void ctl_stack(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int stack[32];
    int top = 0, s = 0;
    for (int i = 0; i < n; ++i) {
        const int x = order[t * 32 + i];
        if (x & 1) { stack[top] = x & 0xff; ++top; }
        else if (top > 0) { --top; s = (s * 3 + stack[top]) & 0xffff; }
    }
    out[t] = (float)(s + top);
}
