// Kernels that macros make.
#pragma once

#define HISTOGRAM(name, BINS)                                                      \
    extern "C" __global__ void name(const int *in, int *out, int n) {              \
        int bins[BINS];                                                            \
        for (int k = 0; k < BINS; ++k) bins[k] = 0;                                \
        for (int k = 0; k < n; ++k) bins[in[k * 32 + threadIdx.x] % BINS] += k;    \
        for (int k = 0; k < BINS; ++k) out[k * 32 + threadIdx.x] = bins[k];        \
    }

#define QUIET_HISTOGRAM(name, BINS)                                                \
    extern "C" __global__ void name(const int *in, int *out, int n) {              \
        /* lmem: allow(dynamic_index, reason = "small") */                         \
        int bins[BINS];                                                            \
        for (int k = 0; k < BINS; ++k) bins[k] = 0;                                \
        for (int k = 0; k < n; ++k) bins[in[k * 32 + threadIdx.x] % BINS] += k;    \
        for (int k = 0; k < BINS; ++k) out[k * 32 + threadIdx.x] = bins[k];        \
    }
