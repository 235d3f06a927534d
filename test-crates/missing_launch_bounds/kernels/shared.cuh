#pragma once

#include "mix.cuh"

// Who launches this one is not known here.
__global__ void from_a_header(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }
