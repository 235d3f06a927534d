// Shapes that are often blamed for local memory, and need none.
#include <cassert>

struct Transform {
    float m[3][4];
};

// A structure by value, read with constant indices, and one that is read at a run-time index: the constant bank has
// addresses.
extern "C" __global__ void parameter_struct(Transform t, const float3 *in, float3 *out, int n, int row) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 p = in[i];
    float3 q;
    q.x = t.m[0][0] * p.x + t.m[0][1] * p.y + t.m[0][2] * p.z + t.m[0][3];
    q.y = t.m[1][0] * p.x + t.m[1][1] * p.y + t.m[1][2] * p.z + t.m[1][3];
    q.z = t.m[row][0] * p.x + t.m[row][1] * p.y + t.m[row][2] * p.z + t.m[row][3];
    out[i] = q;
}

// A triangular loop, unrolled.
extern "C" __global__ void cholesky(const float *in, float *out, int n) {
    float a[4][4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c <= r; ++c) a[r][c] = in[(r * 4 + c) * n + i];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int c = 0; c <= r; ++c) {
            float sum = a[r][c];
#pragma unroll
            for (int k = 0; k < c; ++k) sum -= a[r][k] * a[c][k];
            a[r][c] = r == c ? sqrtf(sum) : sum / a[c][c];
        }
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c <= r; ++c) out[(r * 4 + c) * n + i] = a[r][c];
}

// Two pointers that change places in an unrolled loop.
extern "C" __global__ void ping_pong(const float *in, float *out, int n) {
    float first[6], second[6];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int k = 0; k < 6; ++k) first[k] = in[k * n + i];
    float *from = first, *to = second;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
        for (int k = 0; k < 6; ++k) to[k] = 0.5f * (from[k] + from[(k + 1) % 6]);
        float *last = from;
        from = to;
        to = last;
    }
#pragma unroll
    for (int k = 0; k < 6; ++k) out[k * n + i] = from[k];
}

// A vector type over an array, with constant lanes.
extern "C" __global__ void other_vector_type(const float4 *in, float4 *out, int n) {
    float lane[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    *reinterpret_cast<float4 *>(lane) = in[i];
    lane[0] *= 2.0f;
    lane[3] -= lane[1];
    out[i] = *reinterpret_cast<float4 *>(lane);
}

// One access at a run-time index: a chain of selects.
extern "C" __global__ void single_select(const int *in, int *out, int n, int k) {
    int value[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] = in[j * n + i];
    out[i] = value[k & 3];
}

// A table of constants that is `static`: it lies in the constant bank.
extern "C" __global__ void static_table(const int *in, float *out, int n) {
    static constexpr float weight[16] = {0.1f, 0.2f, 0.4f, 0.8f, 1.6f, 3.2f, 6.4f, 1.28f,
                                         2.1f, 2.2f, 2.4f, 2.8f, 2.6f, 4.2f, 7.4f, 2.28f};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weight[in[i] & 15];
}

__device__ __noinline__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

// A function that is not inlined, with values in and out.
extern "C" __global__ void values_in_and_out(const float3 *in, float3 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = cross(in[i], in[i + 1]);
}

// Divisions of double have a slow path without an array, and `assert` has no arguments to keep.
extern "C" __global__ void divided(const double *in, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    assert(in[i] != 0.0);
    out[i] = 1.0 / in[i];
}

// A `break` out of an unrolled loop.
extern "C" __global__ void early_exit(const float *in, float *out, int n, float limit) {
    float value[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll
    for (int k = 0; k < 8; ++k) value[k] = in[k * n + i];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        if (value[k] > limit) break;
        sum += value[k];
    }
    out[i] = sum;
}
