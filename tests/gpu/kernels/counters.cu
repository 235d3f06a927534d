// Elements that are counted where they are used, and indices that count.

extern "C" __global__ void places_by_class(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int next[12];
    for (int c = 0; c < 12; ++c) next[c] = 5 * c;
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
        const int place = next[(k[r * n + i] & 0xffff) % 12]++;
        sum += place ^ r;
    }
    out[i] = sum;
}

extern "C" __global__ void small_stack(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float stack[8];
    int top = 0;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        if (top < 8 && (k[r * n + i] & 1)) stack[top++] = x[r * n + i];
        else if (top > 0) sum = 0.5f * sum + stack[--top];
    }
    out[i] = sum;
}
