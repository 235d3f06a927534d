// launch: n = 0, 1, 3, 4; m = 0, 3
// control
extern "C" __global__ void ctl_groups_of_four(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float keep[16];
    for (int g = 0; g < n; ++g)
        for (int b = 0; b < 4; ++b) keep[g * 4 + b] = in[t * 16 + g * 4 + b];
    float s = 0.0f;
    for (int g = 0; g < n; ++g) s = s * 0.5f + keep[g * 4] - keep[g * 4 + 3] * keep[g * 4 + 1] + keep[4 * g + 2] * (float)m;
    out[t] = s;
}
