// launch: n = 0, 1, 5, 12; m = 0, 3
// one lambda writes the array by reference, the other has a copy from before
extern "C" __global__ void lambda_captures_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    auto put = [&](int k, float x) { a[k] += x; };
    for (int i = 0; i < n; ++i) put(order[t * 12 + i] % 12, in[t * 12 + i]);
    auto old = [a](int k) { return a[k]; };
    for (int i = 0; i < n; ++i) put(i, 1.0f);
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i] - 2.0f * old(order[t + i] % 12);
    out[t] = s;
}
