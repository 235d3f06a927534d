// Stacks that ptxas keeps for reasons of its own.

// Each level of the recursion has a frame.
__device__ __noinline__ int ackermann(int m, int n) { //~ unexplained_local_memory
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursive(int *out) {
    out[threadIdx.x] = ackermann(2, threadIdx.x & 3);
}

// The same result without recursion.
extern "C" __global__ void closed_form(int *out) {
    out[threadIdx.x] = 2 * (threadIdx.x & 3) + 3;
}

// `volatile` keeps a variable in memory whatever its indices are.
extern "C" __global__ void reassociation_barrier(const float *in, float *out) {
    volatile float term[2]; //~ unexplained_local_memory
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    term[0] = in[i] * in[i];
    term[1] = in[i + 1] * in[i + 1];
    out[i] = term[0] + term[1];
}

// The rounding of each step is fixed by intrinsics instead.
extern "C" __global__ void reassociation_intrinsics(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __fadd_rn(__fmul_rn(in[i], in[i]), __fmul_rn(in[i + 1], in[i + 1]));
}
