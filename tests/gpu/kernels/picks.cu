// An element that is chosen once, beside loops over all of them.

extern "C" __global__ void most_likely(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int classes = rounds / 4;
    double w[21];
    double total = 0.0;
    for (int r = 0; r < rounds; ++r) {
        for (int c = 0; c < classes; ++c) w[c] = x[i * classes + c] + x[r * classes + c];
        int best = classes - 1;
        double high = w[classes - 1];
        for (int c = 0; c < classes - 1; ++c) {
            if (w[c] > high) {
                best = c;
                high = w[c];
            }
        }
        total += best + high;
    }
    out[i] = total;
}

extern "C" __global__ void last_of_row(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int used = rounds / 3;
    float w[30];
    for (int c = 0; c < used; ++c) w[c] = x[c * n + i];
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        for (int c = 0; c < used; ++c) w[c] = 0.5f * w[c] + 0.01f * y;
        y += w[used - 1];
    }
    out[i] = y;
}

extern "C" __global__ void picked_of_row(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int used = rounds / 3;
    float w[28];
    for (int c = 0; c < used; ++c) w[c] = x[c * n + i];
    float y = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        for (int c = 0; c < used; ++c) w[c] = 0.5f * w[c] + 0.01f * y;
        y += w[(k[r] & 0xffff) % used];
    }
    out[i] = y;
}
