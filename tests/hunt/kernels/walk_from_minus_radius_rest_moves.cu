// launch: n = 0, 1, 5; m = 0, 3
// the index is constant in the first round alone: the radius shrinks in the rounds
extern "C" __global__ void walk_from_minus_radius_rest_moves(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[16];
    for (int i = 0; i < 16; ++i) w[i] = in[t * 16 + i];
    int r = n;
    float s = 0.0f;
    for (int i = -r; i <= r; ++i) {
        w[i + r + 2] += s;
        s = s * 0.5f + w[i + r + 2];
        if (in[t + i + 9] > 0.8f && r > 0 && i + r > 0) --r;
    }
    out[t] = s + w[order[t] & 7 + (int)m];
}
