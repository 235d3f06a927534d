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

struct Class {
    float weight;
    int members;
};

extern "C" __global__ void classes(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Class found[8];
    for (int c = 0; c < 8; ++c) {
        found[c].weight = x[c * n + i];
        found[c].members = c;
    }
    for (int r = 0; r < rounds; ++r) {
        const int c = (k[(r & 63) * n + i] >> 4) & 7;
        found[c].weight += 0.5f * x[(r & 63) * n + i];
        found[c].members++;
    }
    float sum = 0.0f;
    for (int c = 0; c < 8; ++c)
        sum += found[c].weight * found[c].members;
    out[i] = sum;
}

extern "C" __global__ void transitions(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int pair[4][4];
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b)
            pair[a][b] = 0;
    int last = k[i] & 3;
    for (int r = 0; r < rounds; ++r) {
        const int next = k[(r & 63) * n + i] & 3;
        pair[last][next] += 1;
        last = next;
    }
    float sum = 0.0f;
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b)
            sum += pair[a][b] * x[4 * a + b];
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) nearest(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float distance[10];
    int count = 0;
    for (int r = 0; r < rounds; ++r) {
        const float d = x[(r & 63) * n + i];
        if (count == 10 && d >= distance[9]) continue;
        int at = count < 10 ? count++ : 9;
        while (at > 0 && distance[at - 1] > d) {
            distance[at] = distance[at - 1];
            --at;
        }
        distance[at] = d;
    }
    float sum = 0.0f;
    for (int c = 0; c < count; ++c)
        sum += distance[c] * (c + 1);
    out[i] = sum;
}
