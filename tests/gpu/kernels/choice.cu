// Elements that data chooses.

extern "C" __global__ void counts(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int r = 0; r < rounds; ++r)
        bin[k[(r & 63) * n + i] & 7] += 1;
    float sum = 0.0f;
    for (int b = 0; b < 8; ++b)
        sum += bin[b] * (b + 1) * x[b];
    out[i] = sum;
}

extern "C" __global__ void sums_by_class(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum[12];
    for (int c = 0; c < 12; ++c)
        sum[c] = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        const int c = (k[(r & 63) * n + i] & 1023) % 12;
        sum[c] = sum[c] * 0.9f + x[(r & 63) * n + i];
    }
    float all = 0.0f;
    for (int c = 0; c < 12; ++c)
        all += (c + 1) * sum[c];
    out[i] = all;
}

extern "C" __global__ void __launch_bounds__(256) big_histogram(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin[32];
    for (int b = 0; b < 32; ++b)
        bin[b] = 0;
    for (int r = 0; r < rounds; ++r)
        bin[k[(r & 63) * n + i] & 31] += 1;
    float sum = 0.0f;
    for (int b = 0; b < 32; ++b)
        sum += bin[b] * x[b];
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) delay_line(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float line[24];
    for (int t = 0; t < 24; ++t)
        line[t] = 0.0f;
    int head = k[i] & 15;
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        y = 0.5f * y + line[head];
        line[head] = x[(r & 63) * n + i];
        head = (head + 5) % 24;
    }
    out[i] = y;
}

extern "C" __global__ void __launch_bounds__(256) walk_tree(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int stack[32];
    int top = 0;
    float sum = 0.0f;
    stack[top++] = k[i] & 1;
    for (int steps = 0; top > 0 && steps < 4 * rounds; ++steps) {
        int node = stack[--top];
        sum = 0.75f * sum + x[node];
        if (node < 512) {
            if (x[node] > 0.0f && top < 31) stack[top++] = 2 * node + 1;
            if (top < 31) stack[top++] = 2 * node + 2;
        }
    }
    out[i] = sum;
}
