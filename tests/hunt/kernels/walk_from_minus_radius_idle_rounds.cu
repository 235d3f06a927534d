// launch: n = 2, 7, 40; m = 0, 3
// rounds beyond the array count, and access nothing
extern "C" __global__ void walk_from_minus_radius_idle_rounds(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[15];
    for (int i = 0; i < 15; ++i) w[i] = in[t * 15 + i];
    float s = 0.0f;
    int rounds = 0;
    for (int i = -n; i <= n; ++i) {
        ++rounds;
        if (i + n < 15) s = s * 0.5f + w[i + n];
    }
    out[t] = s;
    out[8192 + t] = (float)rounds + w[order[t] & 7 + (int)m];
}
