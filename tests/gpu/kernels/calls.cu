// Addresses that leave a function, and variables that nobody but the thread can see.

struct Pair {
    float low, high;
};

__device__ __noinline__ void widen(Pair *pair, float value)
{
    pair->low = fminf(pair->low, value) - 0.001f;
    pair->high = fmaxf(pair->high, value) + 0.001f;
}

extern "C" __global__ void ranges(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pair pair = {0.0f, 0.0f};
    for (int r = 0; r < rounds; ++r)
        widen(&pair, x[(r & 63) * n + i]);
    out[i] = pair.high - pair.low;
}

__device__ __noinline__ void rotate(float &a, float &b, float c, float s)
{
    float t = a * c - b * s;
    b = a * s + b * c;
    a = t;
}

extern "C" __global__ void rotations(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = x[n + i];
    for (int r = 0; r < rounds; ++r)
        rotate(a, b, 0.8f, 0.6f);
    out[i] = a + b;
}

__device__ __noinline__ float mixed(float *state, float value)
{
    state[0] = 0.5f * state[0] + value;
    state[1] = 0.25f * state[1] + state[0];
    state[2] = 0.125f * state[2] + state[1];
    return state[2];
}

extern "C" __global__ void filters(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float state[3] = {0.0f, 0.0f, 0.0f};
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r)
        y += mixed(state, x[(r & 63) * n + i]);
    out[i] = y;
}

extern "C" __global__ void compensated(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile float sum = 0.0f;
    for (int r = 0; r < rounds; ++r)
        sum = sum * 0.5f + x[(r & 63) * n + i];
    out[i] = sum;
}
