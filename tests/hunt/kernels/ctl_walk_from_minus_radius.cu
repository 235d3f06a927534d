// launch: n = 0, 1, 7, -3; m = 0, 3
// control
extern "C" __global__ void ctl_walk_from_minus_radius(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[15];
    float sum = 0.0f;
    for (int i = -n; i <= n; ++i) {
        w[i + n] = in[t * 15 + i + n] * (i + 1);
        sum += w[i + n];
    }
    float s = sum;
    for (int i = -n; i <= n; ++i) {
        if (in[t + i + n] < (float)m * 0.1f) continue;
        s = s * 0.5f + w[i + n];
    }
    out[t] = s;
}
