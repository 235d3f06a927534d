// Tables of functions: calls by name can be inlined.

typedef void (*Force)(const float *position, float *force, float time);

__device__ __noinline__ void spring(const float *position, float *force, float) { //~ call_frame
    force[0] = -position[0];
    force[1] = -2.0f * position[1];
}

__device__ __noinline__ void wind(const float *position, float *force, float time) { //~ call_frame
    force[0] = erff(time) - position[1];
    force[1] = erff(position[0]);
}

__device__ Force forces[2] = {spring, wind};

extern "C" __global__ void integrate(float *x, int which, int steps) {
    float position[2], force[2]; //~ address_escape //~ address_escape
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    position[0] = position[1] = x[i];
    const Force apply = forces[which];
    for (int step = 0; step < steps; ++step) {
        apply(position, force, 0.1f * step);
        for (int axis = 0; axis < 2; ++axis) position[axis] += 0.1f * force[axis];
    }
    x[i] = position[0] * position[1];
}

// The host may put other functions into this one.
typedef float (*Shape)(float x);

__device__ float bump(float x) { return erff(x) * x; } //~ call_frame

__device__ float ramp(float x) { return fmaxf(x, 0.0f); }

__device__ Shape shapes[2] = {bump, ramp};

extern "C" __global__ void bend(float *x, const int *which) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = shapes[which[i]](x[i]);
}

Shape *shapes_of_the_host() {
    void *place = nullptr;
    cudaGetSymbolAddress(&place, shapes);
    return static_cast<Shape *>(place);
}
