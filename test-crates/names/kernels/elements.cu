// An array whose indices are all constants is split into its elements, and stays in memory where `volatile` leads to it.
__device__ __forceinline__ float scaled(volatile float *m) {
    const float s = fmaxf(m[0], m[3]);
    m[0] /= s;
    m[1] /= s;
    m[4] /= s;
    return m[1] * m[4] + m[0] * m[5] - m[2];
}

__global__ void by_parameter(const float *in, float *out) {
    float cov[6] = {0, 0, 0, 0, 0, 0}; //~ volatile_local
    for (int i = 0; i < 9; ++i) {
        const float d = in[threadIdx.x + i * 32];
        for (int j = 0; j < 6; ++j) cov[j] += d * (j + 1);
    }
    out[threadIdx.x] = scaled(cov);
}

// The structure has a pointer alone, which is never in memory.
struct Packed {
    volatile float *m;
    __device__ __forceinline__ Packed(volatile float *a) : m(a) {}
    __device__ __forceinline__ float first() const {
        return m[1];
    }
    __device__ __forceinline__ float last() const {
        return m[4];
    }
    __device__ __forceinline__ float reduce() {
        const float s = fmaxf(m[0], m[3]);
        m[0] /= s;
        m[1] /= s;
        m[4] /= s;
        return first() * last() + m[0] * m[5] - m[2];
    }
};

__global__ void by_view(const float *in, float *out) {
    float cov[] = {0, 0, 0, 0, 0, 0}; //~ volatile_local
    for (int i = 0; i < 9; ++i) {
        const float d = in[threadIdx.x + i * 32];
        for (int j = 0; j < 6; ++j) cov[j] += d * (j + 1);
    }
    Packed packed(cov);
    out[threadIdx.x] = packed.reduce();
}

// A number is in memory where a reference leads a `volatile` access to it.
template <class T> struct Sum {
    __device__ __forceinline__ T operator()(const T &a, const T &b) const {
        return a + b;
    }
};

template <class T, class Op> __device__ __forceinline__ T reduced(volatile T *line, T init, Op op) {
    const unsigned lane = threadIdx.x & 31;
    T value = line[lane] = init; //~ volatile_local
    if (lane < 16) {
        line[lane] = value = op(value, line[lane + 16]);
        line[lane] = value = op(value, line[lane + 8]);
        line[lane] = value = op(value, line[lane + 4]);
    }
    return line[0];
}

__global__ void by_reference(const float *in, float *out) {
    __shared__ float line[32];
    out[threadIdx.x] = reduced<float>(line, in[threadIdx.x], Sum<volatile float>());
}

// A copy that an operator makes of its operand: `Vec r(l);` on one line with its use.
struct Vec {
    float x, y, z;
    __device__ Vec() {}
    __device__ Vec(float a, float b, float c) : x(a), y(b), z(c) {}
    __device__ Vec(const Vec &r) : x(r.x), y(r.y), z(r.z) {}
    __device__ Vec &operator=(const Vec &r) { x = r.x; y = r.y; z = r.z; return *this; }
    __device__ Vec &operator*=(float f) { x *= f; y *= f; z *= f; return *this; }
    friend __device__ Vec operator*(const Vec &l, float f) { Vec r(l); r *= f; return r; }
};

__constant__ int edges[256][16];

__device__ inline int fill(Vec *v, const float *p) {
    int c = 0;
    for (int i = 0; i < 8; ++i)
        if (p[i] < 0) c |= 1 << i;
#pragma unroll
    for (int i = 0; i < 12; ++i)
        if (c & (5 << i)) v[i] = Vec(p[i], p[i + 1], p[i + 2]);
    return c;
}

template <class T> __global__ void copied(const T *in, Vec *out, float factor) {
    Vec corner[12]; //~ dynamic_index
    const int c = fill(corner, in + threadIdx.x * 16);
    for (int i = 0; edges[c][i] != -1; i += 3) {
        out[threadIdx.x * 16 + i] = corner[edges[c][i]] * factor;
        out[threadIdx.x * 16 + i + 1] = corner[edges[c][i + 1]] * factor;
    }
}
template __global__ void copied<float>(const float *, Vec *, float);

// The statement between the kernel and the innermost function has the indices.
struct Axes {
    float3 d[3];
    __device__ float3 &operator[](int i) { return d[i]; }
};

__device__ __forceinline__ float3 crossed(const float3 &a, const float3 &b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__device__ __forceinline__ void turned(const float *c, Axes &axes) {
    axes[0] = make_float3(c[0], c[1], c[2]);
    axes[1] = make_float3(c[3], c[4], c[5]);
    axes[2] = make_float3(c[6], c[7], c[8]);
    unsigned low = 2, high = 2;
    if (axes[1].x <= axes[2].x) low = 1;
    if (axes[1].x > axes[2].x) high = 1;
    if (axes[0].x <= (low == 1 ? axes[1].x : axes[2].x)) low = 0;
    if (axes[0].x > (high == 1 ? axes[1].x : axes[2].x)) high = 0;
    const unsigned middle = 3 - low - high;
    axes[low] = crossed(axes[(low + 1) % 3], axes[(low + 2) % 3]);
    axes[middle] = crossed(axes[(middle + 1) % 3], axes[(middle + 2) % 3]);
}

__global__ void between(const float *in, float *out) {
    float c[9];
    for (int i = 0; i < 9; ++i) c[i] = in[threadIdx.x + i * 32];
    Axes axes; //~ dynamic_index
    turned(c, axes);
    out[threadIdx.x] = axes[0].x;
    out[threadIdx.x + 32] = axes[0].y;
    out[threadIdx.x + 64] = axes[0].z;
}
