// Expressions, trees and traces: what has no size that anybody knows.
#include <alloca.h>
#include <cstdio>

struct Term {
    int operation; // 0: a leaf
    int left, right;
    float value;
};

__device__ __noinline__ float evaluate(const Term *terms, int at, float x)
{
    const Term term = terms[at];
    if (term.operation == 0) return term.value * x;
    const float left = evaluate(terms, term.left, x); //@ access - in evaluate_trees|evaluate
    const float right = evaluate(terms, term.right, x); //@ access - in evaluate_trees|evaluate
    switch (term.operation) {
        case 1: return left + right;
        case 2: return left * right;
        default: return fminf(left, right);
    }
}

// Expression trees, evaluated as they are written.
__global__ void evaluate_trees(const Term *terms, const int *roots, const float *x, float *y, int n) //@ object -|evaluate: recursive_call in evaluate_trees|evaluate sm_80 sm_90 sm_120
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = evaluate(terms, roots[i], x[i]); //@ access -
}

// Ackermann's function, for those who want to see a stack grow.
__device__ int ackermann(int m, int n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1); //@ access - in ackermann_table|ackermann
    return ackermann(m - 1, ackermann(m, n - 1)); //@ access - in ackermann_table|ackermann
}

__global__ void ackermann_table(int *out, int columns) //@ object -|ackermann: recursive_call in ackermann_table|ackermann sm_80 sm_90 sm_120
{
    out[blockIdx.x * columns + threadIdx.x] = ackermann(blockIdx.x, threadIdx.x); //@ access -
}

template <int Depth>
__device__ __forceinline__ float simpson(const float *f, int at, int step)
{
    if constexpr (Depth == 0)
        return f[at] + 4.0f * f[at + step] + f[at + 2 * step];
    else
        return simpson<Depth - 1>(f, at, step / 2) + simpson<Depth - 1>(f, at + step, step / 2);
}

// Recursion that ends when the kernel is compiled.
__global__ void simpson_integrals(const float *f, float *integral, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) integral[i] = simpson<3>(f, 64 * i, 16);
}

// A buffer as long as the longest name.
__global__ void reverse_names(const char *names, const int *offset, char *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int length = offset[i + 1] - offset[i];
    char *name = static_cast<char *>(alloca(length)); //@ object name: dynamic_alloca sm_80 sm_90 sm_120
    for (int c = 0; c < length; ++c) name[c] = names[offset[i] + c]; //@ access name
    for (int c = 0; c < length; ++c) out[offset[i] + c] = name[length - 1 - c]; //@ access name
}

// The matrix of a mesh cell has as many rows as it has corners.
__global__ void assemble_cells(const int *corners, const float *coordinate, float *stiffness, int cells)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    const int rows = corners[cell];
    float *gradient = (float *)alloca(rows * sizeof(float)); //@ object gradient: dynamic_alloca sm_80 sm_90 sm_120
    float mean = 0.0f;
    for (int r = 0; r < rows; ++r) {
        gradient[r] = coordinate[r * cells + cell]; //@ access gradient
        mean += gradient[r] / rows; //@ access gradient
    }
    float energy = 0.0f;
    for (int r = 0; r < rows; ++r) energy += (gradient[r] - mean) * (gradient[r] - mean); //@ access gradient
    stiffness[cell] = energy;
}

// Says what went wrong.
__global__ void check_finite(const float *x, int *bad, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (!isfinite(x[i])) {
        printf("x[%d] is %f in block %d\n", i, x[i], blockIdx.x); //@ object -: printf_buffer //@ access -
        atomicAdd(bad, 1);
    }
}

// Progress of a long search, beside an array of votes.
__global__ void elect(const unsigned char *ballots, int *winner, int voters, int verbose)
{
    unsigned votes[11] = {}; //@ object votes: dynamic_index
    const int precinct = blockIdx.x * blockDim.x + threadIdx.x;
    for (int v = 0; v < voters; ++v) ++votes[ballots[precinct * voters + v] % 11]; //@ access votes
    int best = 0;
#pragma unroll
    for (int c = 1; c < 11; ++c)
        if (votes[c] > votes[0]) votes[0] = votes[c], best = c;
    if (verbose > 1) printf("precinct %d: candidate %d with %u of %d\n", precinct, best, votes[0], voters); //@ object -: printf_buffer //@ access -
    winner[precinct] = best;
}
