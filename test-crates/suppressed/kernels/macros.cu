// Kernels that macros make. A call needs no semicolon, and a comment above one ends with it.

#include "macros.cuh"

// lmem: allow(dynamic_index, reason = "16 bins are few")
HISTOGRAM(histogram_16, 16)
HISTOGRAM(histogram_32, 32) //~ dynamic_index

// The blank line below ends it.
// lmem: allow(dynamic_index)
//~^ invalid_directive

HISTOGRAM(histogram_24, 24) //~ dynamic_index

// Inside a macro, `/* */` is the only form.
QUIET_HISTOGRAM(quiet_16, 16)
QUIET_HISTOGRAM(quiet_32, 32)

// lmem: expect(dynamic_index)
HISTOGRAM(expected, 20)

// lmem: expect(dynamic_index)
//~^ unfulfilled_expect
extern "C" __global__ void scale(const float *in, float *out) { out[threadIdx.x] = 2.0f * in[threadIdx.x]; }
