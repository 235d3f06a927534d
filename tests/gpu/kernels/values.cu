// What a function gets by its address, and cannot be inlined for.

struct Body {
    float x, v, mass;
};

__device__ __attribute__((noinline)) void advance(Body *body, float force)
{
    if (body->mass <= 0.0f) return;
    body->v += force / body->mass;
    (*body).x += 0.01f * body->v;
}

__device__ __attribute__((noinline)) float energy(const Body &body)
{
    return 0.5f * body.mass * body.v * body.v;
}

extern "C" __global__ void bodies(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body body = {x[i], 0.0f, 1.5f + x[n + i]};
    float total = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        advance(&body, x[r * n + i]);
        total += energy(body);
    }
    out[i] = total + body.x;
}
