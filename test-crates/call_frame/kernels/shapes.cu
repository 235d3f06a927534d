// Virtual calls, and structures by value through a pointer to a function.

struct Shape {
    __device__ virtual float distance(const float3 &from) const = 0;
};

struct Ball : Shape {
    float3 center;
    float radius;
    __device__ Ball(float3 c, float r) : center(c), radius(r) {}
    __device__ float distance(const float3 &from) const override { //~ call_frame
        float x = from.x - center.x, y = from.y - center.y, z = from.z - center.z;
        return sqrtf(x * x + y * y + z * z) - radius;
    }
};

// The objects were made elsewhere; only the calls are here.
extern "C" __global__ void march(Shape *const *shapes, const float3 *from, float *out, int count) {
    float nearest = 1e30f;
    const float3 &point = from[threadIdx.x];
    for (int k = 0; k < count; ++k) nearest = fminf(nearest, shapes[k]->distance(point));
    out[threadIdx.x] = nearest;
}

extern "C" __global__ void make(Shape **shapes, const float4 *data) {
    float4 it = data[threadIdx.x];
    shapes[threadIdx.x] = new Ball(make_float3(it.x, it.y, it.z), it.w);
}

struct Matrix {
    float m[24];
};

__device__ __noinline__ float trace(Matrix a, int n) { //~ call_frame
    float sum = 0.0f;
    for (int k = 0; k < 24; k += 5) sum += a.m[k] * n;
    return sum;
}

__device__ float (*measures[1])(Matrix, int) = {trace};

// The argument is more than the registers for arguments hold: it is written to the stack of the kernel.
extern "C" __global__ void measure(const Matrix *in, float *out, int n, int which) {
    Matrix a = in[threadIdx.x];
    out[threadIdx.x] = measures[which](a, n); //~ call_frame
}

__device__ __noinline__ float determinant(Matrix a, int n) { return a.m[0] * a.m[5] * a.m[10] - a.m[1] * n; }

// By name: the structure is passed in registers, however large it is.
extern "C" __global__ void measure_by_name(const Matrix *in, float *out, int n) {
    Matrix a = in[threadIdx.x];
    out[threadIdx.x] = determinant(a, n) + determinant(a, n + 1);
}
