// Findings that somebody has looked at.

// On the line of the declaration.
extern "C" __global__ void cold_path(const int *in, int *out, int n) {
    int seen[20]; // lmem: allow(dynamic_index, reason = "runs once, at the start")
#pragma unroll
    for (int k = 0; k < 20; ++k) seen[k] = 0;
    for (int k = 0; k < n; ++k) seen[in[k * 32 + threadIdx.x] % 20] = k;
#pragma unroll
    for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = seen[k];
}

// The same kernel without a comment is reported.
extern "C" __global__ void hot_path(const int *in, int *out, int n) {
    int seen[20]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 20; ++k) seen[k] = 0;
    for (int k = 0; k < n; ++k) seen[in[k * 32 + threadIdx.x] % 20] = k;
#pragma unroll
    for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = seen[k];
}

// lmem: allow(warnings)
extern "C" __global__ void whole_kernel(const int *in, int *out, int n) {
    int seen[20];
    int last[24];
#pragma unroll
    for (int k = 0; k < 20; ++k) seen[k] = 0;
#pragma unroll
    for (int k = 0; k < 24; ++k) last[k] = 0;
    for (int k = 0; k < n; ++k) {
        int value = in[k * 32 + threadIdx.x];
        seen[value % 20] = k;
        last[value % 24] += seen[(value + k) % 20];
    }
#pragma unroll
    for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = seen[k] + last[k];
}

// A comment for another lint does not silence this one, and silences nothing.
extern "C" __global__ void other_lint(const int *in, int *out, int n) {
    // lmem: allow(register_spill)
    //~^ unused_allow
    int seen[20]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 20; ++k) seen[k] = 0;
    for (int k = 0; k < n; ++k) seen[in[k * 32 + threadIdx.x] % 20] = k;
#pragma unroll
    for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = seen[k];
}
