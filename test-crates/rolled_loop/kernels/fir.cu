// Filters with a window in each thread.

// The number of taps is known at run time only.
extern "C" __global__ void fir_runtime_taps(const float *in, const float *coefficients, float *out, int n, int taps) {
    float window[16]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int t = 0; t < taps; ++t) {
        window[t] = in[i + t];
    }
    float mean = 0.0f;
    for (int t = 0; t < taps; ++t) {
        mean += window[t];
    }
    mean /= taps;
    float sum = 0.0f;
    for (int t = 0; t < taps; ++t) {
        sum += coefficients[t] * (window[t] - mean);
    }
    out[i] = sum;
}

// The same with a guard in an unrolled loop.
extern "C" __global__ void fir_guarded_taps(const float *in, const float *coefficients, float *out, int n, int taps) {
    float window[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int t = 0; t < 16; ++t) {
        window[t] = t < taps ? in[i + t] : 0.0f;
    }
    float mean = 0.0f;
#pragma unroll
    for (int t = 0; t < 16; ++t) {
        mean += window[t];
    }
    mean /= taps;
    float sum = 0.0f;
#pragma unroll
    for (int t = 0; t < 16; ++t) {
        if (t < taps) sum += coefficients[t] * (window[t] - mean);
    }
    out[i] = sum;
}

// Somebody wanted small code.
extern "C" __global__ void variance_not_unrolled(const float *in, float *out, int n) {
    float sample[12]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 12; ++k) {
        sample[k] = in[i * 12 + k];
        mean += sample[k];
    }
    mean *= 1.0f / 12.0f;
    float variance = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 12; ++k) {
        float d = sample[k] - mean;
        variance += d * d;
    }
    out[i] = variance;
}

// The same, unrolled.
extern "C" __global__ void variance_unrolled(const float *in, float *out, int n) {
    float sample[12];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f;
#pragma unroll
    for (int k = 0; k < 12; ++k) {
        sample[k] = in[i * 12 + k];
        mean += sample[k];
    }
    mean *= 1.0f / 12.0f;
    float variance = 0.0f;
#pragma unroll
    for (int k = 0; k < 12; ++k) {
        float d = sample[k] - mean;
        variance += d * d;
    }
    out[i] = variance;
}

// Unrolled by four, which leaves a counter all the same.
extern "C" __global__ void autocorrelation(const float *in, float *out, int n, int lag) {
    float block[160]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 160; ++k) {
        block[k] = in[i * 160 + k];
        mean += block[k];
    }
    mean *= 1.0f / 160.0f;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 160; ++k) {
        sum += (block[k] - mean) * in[i * 160 + k + lag];
    }
    out[i] = sum;
}
