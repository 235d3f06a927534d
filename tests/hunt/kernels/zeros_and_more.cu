// launch: n = 1, 5; m = 0, 3
// not all lists of braces are zeros
extern "C" __global__ void zeros_and_more(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[3][3] = {{0.f}}, b[2][3] = {{0.f, 0.f}, {0, 1}}, c[2][2] = {{-0.f}, {0.f}};
    for (int i = 0; i < n; ++i) {
        a[order[t + i] % 3][i % 3] += in[i * 64 + t % 64];
        b[order[t + i] & 1][i % 3] += 1;
        c[order[t + i] & 1][i & 1] *= 2;
    }
    float sum = 0;
    for (int i = 0; i < 9; ++i) sum = sum * 0.5f + a[(i + m) % 9 / 3][i % 3];
    for (int i = 0; i < 6; ++i) sum = sum * 0.5f + b[(i + m) % 6 / 3][i % 3];
    out[t] = sum + 1 / (c[m & 1][0] == 0 ? copysignf(1, c[0][m & 1]) : 4);
}
