// right: 1 2
// wrong: 51 52 53
__device__ __noinline__ int depth(const int *tree, int at, int level) {
    if (level > 6 || at < 0 || at > 60) return level;
    const int *node = tree + 2 * at;
    const int left = depth(tree, node[0], level + 1), right = depth(tree, node[1], level + 1);
    return left > right ? left : right;
}
extern "C" __global__ void recursion(const int *tree, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 0
    out[i] = depth(tree, i, 0);
#else
    int node[9], level[9], top = 0, most = 0;
    node[0] = i; level[0] = 0; top = 1;
    while (top > 0) {
        --top;
        const int at = node[top], l = level[top];
#if V == 51
        if (l > 5 || at < 0 || at > 60) { most = l > most ? l : most; continue; }
#elif V == 52
        if (l > 6 || at < 0 || at > 60) { most = l; continue; }
#else
        if (l > 6 || at < 0 || at > 60) { most = l > most ? l : most; continue; }
#endif
#if V == 2
        node[top] = tree[2 * at + 1]; level[top] = l + 1; ++top;
        node[top] = tree[2 * at]; level[top] = l + 1; ++top;
#elif V == 53
        node[top] = tree[2 * at]; level[top] = l + 1; ++top;
#else
        node[top] = tree[2 * at]; level[top] = l + 1; ++top;
        node[top] = tree[2 * at + 1]; level[top] = l + 1; ++top;
#endif
    }
    out[i] = most;
#endif
}
