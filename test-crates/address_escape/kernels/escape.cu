// Variables whose address leaves the kernel, and the same by value.

struct Particle {
    float x, y, z, mass;
};

__device__ __noinline__ void push(Particle *p, float dt) {
    p->x += dt * p->mass;
    p->y -= dt * p->mass;
    p->z *= dt;
}

__device__ __noinline__ Particle pushed(Particle p, float dt) {
    p.x += dt * p.mass;
    p.y -= dt * p.mass;
    p.z *= dt;
    return p;
}

__device__ __forceinline__ void push_inline(Particle *p, float dt) {
    p->x += dt * p->mass;
    p->y -= dt * p->mass;
    p->z *= dt;
}

extern "C" __global__ void by_pointer(const Particle *in, Particle *out, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i]; //~ address_escape
    for (int step = 0; step < 10; ++step) push(&p, dt);
    out[i] = p;
}

extern "C" __global__ void by_value(const Particle *in, Particle *out, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i];
    for (int step = 0; step < 10; ++step) p = pushed(p, dt);
    out[i] = p;
}

extern "C" __global__ void inlined(const Particle *in, Particle *out, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i];
    for (int step = 0; step < 10; ++step) push_inline(&p, dt);
    out[i] = p;
}

__device__ __noinline__ void minmax(const float *row, int n, float &low, float &high) {
    for (int k = 0; k < n; ++k) {
        low = fminf(low, row[k]);
        high = fmaxf(high, row[k]);
    }
}

// Results through references are pointers too.
extern "C" __global__ void ranges(const float *in, float2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float low = 1e30f; //~ address_escape
    float high = -1e30f; //~ address_escape
    minmax(in + i * n, n, low, high);
    out[i] = make_float2(low, high);
}

typedef void (*Step)(Particle *, float);

__device__ __noinline__ void drift(Particle *p, float dt) { p->x += dt; } //~ call_frame
__device__ __noinline__ void kick(Particle *p, float dt) { p->mass *= dt; } //~ call_frame

__device__ Step steps[2] = {drift, kick};

// The function is chosen at run time.
extern "C" __global__ void through_table(const Particle *in, Particle *out, int n, int which, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i]; //~ address_escape
    steps[which](&p, dt);
    out[i] = p;
}

// A switch names the functions, so that they can be inlined.
extern "C" __global__ void through_switch(const Particle *in, Particle *out, int n, int which, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i];
    switch (which) {
    case 0: p.x += dt; break;
    default: p.mass *= dt; break;
    }
    out[i] = p;
}
