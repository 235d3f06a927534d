// Looks like recursion, and is none in the machine code.

// The last thing that the function does: a loop.
__device__ int greatest_divisor(int a, int b) { return b == 0 ? a : greatest_divisor(b, a % b); }

extern "C" __global__ void divisors(const int2 *pairs, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = greatest_divisor(pairs[i].x, pairs[i].y);
}

// A depth that is known at compile time: eight functions, all inlined.
template <int Depth>
__device__ float horner(const float *coefficient, float x) {
    return coefficient[0] + x * horner<Depth - 1>(coefficient + 1, x);
}

template <>
__device__ float horner<0>(const float *coefficient, float) {
    return coefficient[0];
}

extern "C" __global__ void polynomial(const float *coefficient, const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = horner<7>(coefficient, in[i]);
}

struct Sphere {
    float radius, albedo;
    int inside, outside;
};

// The tree of `shade` with a stack of known depth, in shared memory.
extern "C" __global__ void __launch_bounds__(128) render_with_stack(const Sphere *scene, float *image, int first) {
    __shared__ int stack[16][128];
    int top = 0;
    float light = 0.0f;
    stack[top++][threadIdx.x] = first + threadIdx.x;
    while (top > 0) {
        int sphere = stack[--top][threadIdx.x];
        if (sphere < 0) continue;
        light += scene[sphere].albedo * scene[sphere].radius;
        if (top + 2 <= 16) {
            stack[top++][threadIdx.x] = scene[sphere].inside;
            stack[top++][threadIdx.x] = scene[sphere].outside;
        }
    }
    image[threadIdx.x] = light;
}
