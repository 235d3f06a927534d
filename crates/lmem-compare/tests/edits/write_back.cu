// Members of a structure that a function writes through a pointer: as values, written back.
// right: 1 2 3
// wrong: 51 52 53 54
struct State { float position, velocity; int steps; };
__device__ __noinline__ void step(State *s, float force) {
    s->velocity += force;
    s->position += 0.5f * s->velocity;
    if (force > 0.25f) s->steps++;
}
__device__ __forceinline__ void step_values(float &position, float &velocity, int &steps, float force) {
    velocity += force;
    position += 0.5f * velocity;
    if (force > 0.25f) steps++;
}
extern "C" __global__ void write_back(const float *forces, State *states, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    State s = states[i];
#if V == 0
    for (int k = 0; k < n; ++k) step(&s, forces[i * n + k]);
#elif V == 1
    for (int k = 0; k < n; ++k) step_values(s.position, s.velocity, s.steps, forces[i * n + k]);
#elif V == 2
    float p = s.position, v = s.velocity;
    int c = s.steps;
    for (int k = 0; k < n; ++k) step_values(p, v, c, forces[i * n + k]);
    s.position = p; s.velocity = v; s.steps = c;
#elif V == 3
    for (int k = 0; k < n; ++k) {
        const float f = forces[i * n + k];
        s.velocity += f; s.position += 0.5f * s.velocity; s.steps += f > 0.25f;
    }
#elif V == 51
    float p = s.position, v = s.velocity;
    int c = s.steps;
    for (int k = 0; k < n; ++k) step_values(p, v, c, forces[i * n + k]);
    s.position = p; s.velocity = v;
#elif V == 52
    float p = s.position, v = s.velocity;
    for (int k = 0; k < n; ++k) step_values(p, v, s.steps, forces[i * n + k]);
    s.position = p;
#elif V == 53
    for (int k = 0; k < n; ++k) {
        const float f = forces[i * n + k];
        s.position += 0.5f * s.velocity; s.velocity += f; s.steps += f > 0.25f;
    }
#elif V == 54
    for (int k = 0; k < n; ++k) {
        const float f = forces[i * n + k];
        s.velocity += f; s.position += 0.5f * s.velocity; s.steps += f >= 0.25f;
    }
#endif
    states[i] = s;
}
