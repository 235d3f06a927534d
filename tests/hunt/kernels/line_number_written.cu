// launch: n = 0, 3, 12; m = 0
// the number of a line behind the array is written out
extern "C" __global__ void line_number_written(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int bin[6] = {};
    for (int i = 0; i < n; ++i) {
        bin[order[t + i] % 6] += i + 1;
    }
    int s = __LINE__;
    for (int k = 0; k < 6; ++k) s = s * 3 + bin[k];
    out[t] = (float)(s & 0xffff);
}
