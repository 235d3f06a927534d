// Structures that functions get by their address.

struct Body {
    float x, v, mass;
};

__device__ __attribute__((noinline)) void advance(Body *body, float force) {
    if (body->mass <= 0.0f) return;
    body->v += force / body->mass;
    (*body).x += 0.01f * body->v;
}

__device__ __attribute__((noinline)) float energy(const Body &body) {
    return 0.5f * body.mass * body.v * body.v;
}

extern "C" __global__ void bodies(const Body *in, const float *force, float *out, int n) {
    Body body = in[threadIdx.x]; //~ address_escape
    float total = 0.0f;
    for (int t = 0; t < n; ++t) {
        advance(&body, force[t]);
        total += energy(body);
    }
    out[threadIdx.x] = total + body.x;
}

// The address goes on: there is more than the value to it.
__device__ __attribute__((noinline)) float *part(Body *body, int which) { return which ? &body->x : &body->v; }

extern "C" __global__ void parts(const Body *in, float *out, int which) {
    Body body = in[threadIdx.x]; //~ address_escape
    *part(&body, which) = 0.0f;
    out[threadIdx.x] = body.x + body.v;
}
