// Stacks that ptxas keeps for reasons of its own.

// Each level of the recursion has a frame, and ptxas cannot tell how many there are.
__device__ __noinline__ int sum_of_tree(const int2 *children, const int *weight, int node) { //~ unexplained_local_memory sm_90 sm_120
    if (node < 0) return 0;
    int2 next = children[node];
    return weight[node] + sum_of_tree(children, weight, next.x) + sum_of_tree(children, weight, next.y); //~ unexplained_local_memory sm_80
}

extern "C" __global__ void tree_sums(const int2 *children, const int *weight, const int *root, int *out) {
    out[threadIdx.x] = sum_of_tree(children, weight, root[threadIdx.x]);
}

// Parents are numbered after their children, so a loop does.
extern "C" __global__ void tree_sums_in_order(const int2 *children, const int *weight, int *sum, int nodes) {
    for (int node = 0; node < nodes; ++node) {
        int2 next = children[node];
        int total = weight[node];
        if (next.x >= 0) total += sum[next.x * 32 + threadIdx.x];
        if (next.y >= 0) total += sum[next.y * 32 + threadIdx.x];
        sum[node * 32 + threadIdx.x] = total;
    }
}

// `volatile` keeps a variable in memory whatever its indices are.
extern "C" __global__ void reassociation_barrier(const float *in, float *out) {
    volatile float term[2]; //~ volatile_local
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
