// launch: n = 0, 1, 2; m = 0, 3
// the column goes on in the next row
extern "C" __global__ void column_beyond_its_row(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    int row = n > 1 ? 1 + (order[t] & 1) : (order[t] & 1) - 1 + n;
    float s = 0;
    for (int c = 3; c < 6; ++c) {
        s += a[row * 3 + c];
        a[row * 3 + c] = s;
    }
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
