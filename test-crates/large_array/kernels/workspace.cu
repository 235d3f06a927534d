// Work areas that no thread has the registers for.

// 512 floats, walked twice.
extern "C" __global__ void prefix_sums(const float *in, float *out, int n) {
    float row[512]; //~ large_array
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 512; ++k) {
        sum += in[k * n + i];
        row[k] = sum;
    }
    for (int k = 0; k < 512; ++k) {
        out[k * n + i] = row[k] / sum;
    }
}

// The same in two passes over the input, with nothing kept.
extern "C" __global__ void prefix_sums_streamed(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f;
    for (int k = 0; k < 512; ++k) total += in[k * n + i];
    float sum = 0.0f;
    for (int k = 0; k < 512; ++k) {
        sum += in[k * n + i];
        out[k * n + i] = sum / total;
    }
}

// A launch bound leaves 64 registers to a thread: 384 bytes are too many then.
extern "C" __global__ void __launch_bounds__(1024) reversed(const int *in, int *out, int n) {
    int list[96]; //~ large_array
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll 1
    for (int k = 0; k < 96; ++k) list[k] = in[k * n + i];
#pragma unroll 1
    for (int k = 0; k < 96; ++k) out[k * n + i] = list[95 - k] - in[k];
}

// As large, but it fits: 64 floats in an unrolled loop.
extern "C" __global__ void small_row(const float *in, float *out, int n) {
    float row[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 64; ++k) {
        sum += in[k * n + i];
        row[k] = sum;
    }
#pragma unroll
    for (int k = 0; k < 64; ++k) out[k * n + i] = row[k] / sum;
}

// The inner loops are unrolled, and what they hold at a time is too much for registers as well.
struct Matrix {
    float m[20][20];
};

extern "C" __global__ void square_matrix(const float *in, float *out) { //~ register_spill
    Matrix a; //~ large_array
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * 400;
    for (int r = 0; r < 20; ++r)
        for (int c = 0; c < 20; ++c) a.m[r][c] = in[base + r * 20 + c];
    for (int r = 0; r < 20; ++r)
        for (int c = 0; c < 20; ++c) {
            float sum = 0.0f;
            for (int k = 0; k < 20; ++k) sum += a.m[r][k] * a.m[k][c];
            out[base + r * 20 + c] = sum;
        }
}
