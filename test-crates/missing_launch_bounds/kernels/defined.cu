// The block comes from a flag.

#include "mix.cuh"

#ifndef BLOCK
#define BLOCK 1024
#endif

__global__ void defined_elsewhere(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }

void run(const float *in, float *out, int rounds) { defined_elsewhere<<<64, BLOCK>>>(in, out, rounds); }
