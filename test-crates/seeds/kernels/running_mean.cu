// Means over a window; the two kernels differ in one index.

template <int Window>
__global__ void running_mean(const float *in, float *out, int n) {
    float window[Window];
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        for (int j = 0; j < Window; ++j) {
            int at = i - Window / 2 + j;
            window[j] = at < 0 || at >= n ? 0.0f : in[at];
        }
        float sum = 0.0f;
        for (int j = 0; j < Window; ++j) sum += window[j];
        out[i] = sum / Window;
    }
}

// The window is visited from another start: the sum is the same, the index is not known.
template <int Window>
__global__ void running_mean_rotated(const float *in, float *out, int n) {
    float window[Window]; //~ dynamic_index
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        for (int j = 0; j < Window; ++j) {
            int at = i - Window / 2 + j;
            window[j] = at < 0 || at >= n ? 0.0f : in[at];
        }
        float sum = 0.0f;
        for (int j = 0; j < Window; ++j) {
            int k = (j + n) % Window;
            sum += window[k];
        }
        out[i] = sum / Window;
    }
}

template __global__ void running_mean<32>(const float *, float *, int);
template __global__ void running_mean_rotated<32>(const float *, float *, int);
