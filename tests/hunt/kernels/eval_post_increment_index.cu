// launch: n = 0, 1, 5, 10; m = 0, 3
extern "C" __global__ void eval_post_increment_index(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float stack[10];
    int top = 0;
    for (int i = 0; i < n; ++i) {
        if ((order[t * 10 + i] & 3) == 0 && top > 1) stack[top - 1] = -stack[--top];
        stack[top++] = in[t * 10 + i];
        if (top >= 2 && (order[t * 10 + i] & 12) == 0) { const float b = stack[--top]; stack[top - 1] += b; }
    }
    const int depth = top;
    float s = 0.0f;
    while (top) s = s * 0.5f + stack[--top];
    out[t] = s + 32.0f * depth;
}
