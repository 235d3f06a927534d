// Tables of constants that each thread makes for itself, and parameters that are copied.

extern "C" __global__ void zigzag_order(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char zigzag[64] = {
        0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
        35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    int at = k[i] & 63;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        at = zigzag[(at + r) & 63];
        sum += x[at];
    }
    out[i] = sum + at;
}

extern "C" __global__ void weights_by_class(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float weight[20] = {0.1f, 0.7f, 0.3f, 0.9f, 0.2f, 0.4f, 0.8f, 0.6f, 0.5f, 1.0f,
                        1.1f, 1.7f, 1.3f, 1.9f, 1.2f, 1.4f, 1.8f, 1.6f, 1.5f, 2.0f};
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r)
        sum += weight[(unsigned)(k[i] + r * 7) % 20] * x[(r & 63) * n + i];
    out[i] = sum;
}

struct Setup {
    const float *x;
    const int *k;
    float *out;
    int n;
    int rounds;
    float gain[16];
};

__device__ __noinline__ float blended(const Setup *setup, int a, float v)
{
    return setup->gain[a & 15] * v + setup->gain[(a >> 4) & 15];
}

extern "C" __global__ void gains_by_value(Setup setup)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= setup.n) return;
    float v = setup.x[i];
    for (int r = 0; r < setup.rounds; ++r)
        v = 0.25f * blended(&setup, setup.k[i] + r, v);
    setup.out[i] = v;
}

extern "C" __global__ void start_by_value(Setup setup)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= setup.n) return;
    float sum = 0.0f;
    while (setup.rounds > 0) {
        sum = 0.5f * sum + setup.gain[(setup.k[i] + setup.rounds) & 15];
        --setup.rounds;
    }
    setup.out[i] = sum * setup.x[i];
}
