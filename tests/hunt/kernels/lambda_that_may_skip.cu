// launch: n = 0, 5, 12; m = 0, 3
// the lambda does without the element of some numbers, and the loop goes beyond the array
extern "C" __global__ void lambda_that_may_skip(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {};
    float sum = 0;
    auto put = [&](int i, float x) {
        sum = sum * 0.5f + x;
        if (i >= 8) return;
        a[i] = x;
    };
    #pragma unroll 1
    for (int i = 0; i < n; ++i) put(i, in[t * 16 + i]);
    for (int i = 0; i < 8; ++i) sum = sum * 0.5f + a[i];
    out[t] = sum;
}
