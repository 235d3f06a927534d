#include <alloca.h>

// The size is known at run time only: ptxas reports a frame of 0 bytes.
extern "C" __global__ void reversed(const int *in, int *out, int n) {
    int *buffer = static_cast<int *>(alloca(n * sizeof(int))); //~ dynamic_alloca
    for (int k = 0; k < n; ++k) buffer[k] = in[k * 256 + threadIdx.x];
    int sum = 0;
    for (int k = n - 1; k >= 0; --k) sum = sum * 3 + buffer[k];
    out[threadIdx.x] = sum;
}

// A bound that is known, and one pass over the data: nothing is kept.
extern "C" __global__ void reversed_as_it_comes(const int *in, int *out, int n) {
    int sum = 0;
    for (int k = n - 1; k >= 0; --k) sum = sum * 3 + in[k * 256 + threadIdx.x];
    out[threadIdx.x] = sum;
}

// Two of them, one in a loop, and an array of the kernel's own beside them.
extern "C" __global__ void edit_distance(const char *a, const char *b, int *out, int n, int m) {
    int *previous = static_cast<int *>(__builtin_alloca((m + 1) * sizeof(int))); //~ dynamic_alloca
    int seen[16]; //~ dynamic_index
    for (int k = 0; k < 16; ++k) seen[k] = 0;
    for (int j = 0; j <= m; ++j) previous[j] = j;
    for (int i = 1; i <= n; ++i) {
        int *current = static_cast<int *>(alloca((m + 1) * sizeof(int))); //~ dynamic_alloca
        current[0] = i;
        ++seen[a[i - 1] & 15];
        for (int j = 1; j <= m; ++j) {
            int replaced = previous[j - 1] + (a[i - 1] != b[j - 1]);
            current[j] = min(replaced, min(previous[j], current[j - 1]) + 1);
        }
        for (int j = 0; j <= m; ++j) previous[j] = current[j];
    }
    out[threadIdx.x] = previous[m] + seen[out[threadIdx.x] & 15];
}

// In a function that is not inlined: it is in the stack of the kernel all the same.
__device__ __noinline__ float median_of(const float *in, int n) {
    float *sorted = static_cast<float *>(alloca(n * sizeof(float))); //~ dynamic_alloca
    for (int k = 0; k < n; ++k) {
        int at = k;
        for (; at > 0 && sorted[at - 1] > in[k]; --at) sorted[at] = sorted[at - 1];
        sorted[at] = in[k];
    }
    return sorted[n / 2];
}

extern "C" __global__ void medians(const float *in, float *out, int n) {
    out[threadIdx.x] = median_of(in + threadIdx.x * n, n);
}

// A constant size: an array like any other, and this one fits into registers.
extern "C" __global__ void constant_size(const int *in, int *out) {
    int *value = static_cast<int *>(alloca(4 * sizeof(int)));
    for (int k = 0; k < 4; ++k) value[k] = in[k * 256 + threadIdx.x];
    out[threadIdx.x] = value[0] * value[3] - value[1] * value[2];
}
