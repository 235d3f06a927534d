// Recursion, and the same work without it.

// Each level has a frame, and ptxas cannot tell how many levels there are.
__device__ __noinline__ int sum_of_tree(const int2 *children, const int *weight, int node) { //~ recursive_call
    if (node < 0) return 0;
    int2 next = children[node];
    return weight[node] + sum_of_tree(children, weight, next.x) + sum_of_tree(children, weight, next.y);
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

struct Sphere {
    float radius, albedo;
    int inside, outside;
};

// An array of the recursive function is one of each level; what is saved across the calls is another part of the frame.
__device__ float shade(const Sphere *scene, int sphere, float weight, int depth) { //~ recursive_call
    if (sphere < 0 || weight < 0.01f) return 0.0f;
    float band[8]; //~ dynamic_index
    for (int k = 0; k < 8; ++k) band[k] = scene[sphere].albedo * k;
    band[depth & 7] += weight;
    float light = shade(scene, scene[sphere].inside, weight * 0.5f, depth + 1) +
                  shade(scene, scene[sphere].outside, weight * 0.5f, depth + 1);
    for (int k = 0; k < 8; ++k) light = light * 0.5f + band[(k + depth) & 7];
    return light * scene[sphere].radius;
}

extern "C" __global__ void render(const Sphere *scene, float *image, int first) {
    image[threadIdx.x] = shade(scene, first + threadIdx.x, 1.0f, 0);
}
