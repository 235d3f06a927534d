// Compiled with `-G` (see `Cargo.toml`), as somebody left it.

__global__ void smooth_traced(const float *in, float *out, int n) //@ object -: debug_build sm_80 sm_90 sm_120
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 || i + 1 >= n) return;
    float taps[3] = {0.25f, 0.5f, 0.25f};
    float sum = 0.0f;
    for (int k = 0; k < 3; ++k) sum += taps[k] * in[i + k - 1];
    out[i] = sum;
}
