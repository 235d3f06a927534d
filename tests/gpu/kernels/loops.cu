// Arrays that loops walk: unrolled, bounded, triangular, backwards.

extern "C" __global__ void partial_unroll(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float part[24];
#pragma unroll 4
    for (int t = 0; t < 24; ++t)
        part[t] = x[t * n + i];
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll 4
        for (int t = 0; t < 24; ++t) {
            part[t] = 0.99f * part[t] + 0.01f * sum;
            sum += part[t];
        }
    }
    out[i] = sum;
}

extern "C" __global__ void never_unrolled(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float row[16];
#pragma unroll 1
    for (int t = 0; t < 16; ++t)
        row[t] = x[t * n + i];
    float best = -1e30f;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll 1
        for (int t = 0; t < 16; ++t) {
            best = fmaxf(best * 0.999f, row[t]);
            row[t] += 0.001f * best;
        }
    }
    out[i] = best;
}

extern "C" __global__ void taps_of_host(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int taps = rounds / 4;
    float window[24];
    for (int t = 0; t < taps; ++t)
        window[t] = x[t * n + i];
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        for (int t = 0; t < taps; ++t)
            sum += window[t] * x[(t + r) & 31];
        for (int t = 0; t < taps; ++t)
            window[t] = 0.5f * window[t] + 0.001f * sum;
    }
    out[i] = sum;
}

extern "C" __global__ void some_taps(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int used = rounds / 3;
    float value[32];
    for (int t = 0; t < used; ++t)
        value[t] = x[t * n + i];
    float high = 0.0f;
    for (int r = 0; r < rounds; ++r)
        for (int t = 0; t < used; ++t)
            if (value[t] > high) high = value[t] * 0.999f;
    out[i] = high;
}

extern "C" __global__ void horner_steps(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int degree = 20 + (k[0] & 3);
    float c[24];
    for (int t = 0; t <= degree; ++t)
        c[t] = x[t * n + i];
    float y = 0.1f;
    for (int r = 0; r < rounds; ++r) {
        float sum = 0.0f;
        for (int t = degree; t >= 0; --t)
            sum = sum * y + c[t];
        y = 0.25f * sum - 0.5f;
    }
    out[i] = y;
}

extern "C" __global__ void forward_substitution(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float y[24];
    float total = 0.0f;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll 1
        for (int a = 0; a < 24; ++a) {
            float sum = x[a * n + i] + 0.01f * r;
#pragma unroll 1
            for (int b = 0; b < a; ++b)
                sum -= 0.05f * x[(a * 24 + b) & 63] * y[b];
            y[a] = sum;
        }
        total += y[23];
    }
    out[i] = total;
}
