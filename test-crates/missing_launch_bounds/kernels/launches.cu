// Kernels that take as many registers as they like, and blocks that have not so many.

#include "shared.cuh"

constexpr int kThreads = 1024;

__global__ void too_many(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }

__global__ void too_many_2d(const float *in, float *out, int rounds) { mix<150>(in, out, rounds); }

// The same with its block: it spills instead, and runs.
__global__ void __launch_bounds__(kThreads) bounded(const float *in, float *out, int rounds) {
    mix<96>(in, out, rounds);
}

__global__ void small_enough(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }

__global__ void unknown_block(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }

__global__ void chosen_block(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }

__global__ void through_a_table(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }

// The larger block is that of the smaller instance.
template <int N>
__global__ void instance(const float *in, float *out, int rounds) {
    mix<N>(in, out, rounds);
}

using Kernel = void (*)(const float *, float *, int);
Kernel table[] = {through_a_table};

void run(const float *in, float *out, int rounds, int blocks, int threads, bool is_large) {
    too_many<<<blocks, 128>>>(in, out, rounds);
    too_many<<<blocks, kThreads>>>(in, out, rounds); //~ missing_launch_bounds
    dim3 block(32, 16);
    too_many_2d<<<blocks, block>>>(in, out, rounds); //~ missing_launch_bounds
    bounded<<<blocks, kThreads>>>(in, out, rounds);
    small_enough<<<blocks, kThreads / 4>>>(in, out, rounds);
    unknown_block<<<blocks, threads>>>(in, out, rounds);
    int chosen = 256;
    if (is_large) chosen = 1024;
    chosen_block<<<blocks, chosen>>>(in, out, rounds);
    through_a_table<<<blocks, 1024>>>(in, out, rounds);
    table[0]<<<blocks, 64>>>(in, out, rounds);
    instance<16><<<blocks, 1024>>>(in, out, rounds);
    instance<96><<<blocks, 128>>>(in, out, rounds);
    from_a_header<<<blocks, 1024>>>(in, out, rounds);
}
