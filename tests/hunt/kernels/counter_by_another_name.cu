// launch: n = 0, 1, 5, 12; m = 0, 3
// the value that is written reads the counter by a reference
extern "C" __global__ void counter_by_another_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    int top = 0;
    int& depth = top;
    for (int i = 0; i < n; ++i)
        if ((order[t + i] & 3) != 0) a[top++] = in[t + i] + depth;
    float s = depth;
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s + a[order[t] & 7];
}
