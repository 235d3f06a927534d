// Particles, their parameters, and what they may be.

struct Species {
    float mass[8];
    float charge[8];
    float lifetime[8];
    int count;
};

// The parameter is changed by the thread: a copy of all of it.
__global__ void age_species(Species species, const int *kind, const float *dt, float *out, int steps) //@ object species: param_copy
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < steps; ++step)
        species.lifetime[kind[step * 64 + i] & 7] -= dt[step]; //@ access species
    float left = 0.0f;
    for (int k = 0; k < 8; ++k)
        left += species.lifetime[k] * species.mass[k];
    out[i] = left;
}

// It is only read, at a run-time index: the constant bank can do that.
__global__ void deflect(Species species, const int *kind, float4 *particle, float field, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int k = kind[i];
    particle[i].y += field * species.charge[k] / species.mass[k];
}

struct Tables {
    const float *column[12];
    int used;
};

__device__ __noinline__ float interpolate(const Tables *tables, int which, float x)
{
    const float *column = tables->column[which];
    const int cell = (int)x;
    return column[cell] + (x - cell) * (column[cell + 1] - column[cell]);
}

// The address of a parameter goes to a function that is not inlined.
__global__ void cross_sections(Tables tables, const float *energy, float *total, int n) //@ object tables: param_copy
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int t = 0; t < tables.used; ++t)
        sum += interpolate(&tables, t, energy[i]); //@ access tables
    total[i] = sum;
}

// The same as a grid constant: its address is one of the constant bank.
__global__ void cross_sections_constant(const __grid_constant__ Tables tables, const float *energy, float *total, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int t = 0; t < tables.used; ++t)
        sum += interpolate(&tables, t, energy[i]);
    total[i] = sum;
}

struct Force {
    float strength;
    __device__ Force(float s) : strength(s) {}
    __device__ virtual float at(float r) const = 0;
};

struct Spring : Force {
    __device__ Spring(float s) : Force(s) {}
    __device__ float at(float r) const override { return -strength * r; } //@ object -: call_frame in Spring::at|apply_forces|advance sm_80 sm_90 sm_120
};

struct Coulomb : Force {
    __device__ Coulomb(float s) : Force(s) {}
    __device__ float at(float r) const override { return strength / (r * r + 1e-3f); } //@ object -: call_frame in Coulomb::at|apply_forces|advance sm_80 sm_90 sm_120
};

// Which force it is, is known when the particle is.
__global__ void apply_forces(const int *kind, float *r, int steps, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Spring spring(0.5f); //@ object spring: address_escape
    Coulomb coulomb(2.0f); //@ object coulomb: address_escape
    const Force *force = kind[i] ? static_cast<const Force *>(&spring) : &coulomb; //@ access spring //@ access coulomb
    float x = r[i];
    for (int step = 0; step < steps; ++step)
        x += dt * force->at(x); //@ access spring //@ access coulomb
    r[i] = x;
}

typedef void (*Boundary)(float *position, float *velocity, float size);

__device__ void reflect(float *position, float *velocity, float size) //@ object -: call_frame in reflect|advance|apply_forces sm_80 sm_90 sm_120
{
    if (*position > size || *position < 0.0f) {
        *velocity = -*velocity;
        *position = fminf(fmaxf(*position, 0.0f), size);
    }
}

__device__ void wrap(float *position, float *, float size) //@ object -: call_frame in wrap|advance|apply_forces sm_80 sm_90 sm_120
{
    *position -= size * floorf(*position / size);
}

__device__ Boundary boundaries[2] = {reflect, wrap};

// Boundary conditions from a table of functions.
__global__ void advance(float2 *state, int boundary, float size, float dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float position = state[i].x; //@ object position: address_escape
    float velocity = state[i].y; //@ object velocity: address_escape
    position += dt * velocity;
    boundaries[boundary](&position, &velocity, size); //@ access position //@ access velocity
    state[i] = make_float2(position, velocity);
}

struct Walker {
    float position[6];
    float energy;
};

// A structure of the walker is copied as a whole, then picked from.
__global__ void swap_walkers(const Walker *walkers, const int *partner, const int *axis, float *out, int n, int rounds) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Walker mine = walkers[i];
    for (int round = 0; round < rounds; ++round) {
        const Walker &other = walkers[partner[round * n + i]];
        const int a = axis[round * n + i];
        mine.position[a] = 0.5f * (mine.position[a] + other.position[a]);
        if (other.energy < mine.energy) mine.energy = other.energy;
    }
    float sum = mine.energy;
    for (float p : mine.position) sum += p;
    out[i] = sum;
}

__device__ __noinline__ void kick(float3 &velocity, float &kinetic, float3 field)
{
    velocity.x += field.x;
    velocity.y += field.y;
    velocity.z += field.z;
    kinetic = 0.5f * (velocity.x * velocity.x + velocity.y * velocity.y + velocity.z * velocity.z);
}

// References are addresses too.
__global__ void kick_particles(float3 *velocity, const float3 *field, float *kinetic, int n, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 v = velocity[i]; //@ object v: address_escape
    float energy = 0.0f; //@ object energy: address_escape
    float total = 0.0f;
    for (int step = 0; step < steps; ++step) {
        kick(v, energy, field[step]); //@ access v //@ access energy
        total += energy;
    }
    velocity[i] = v;
    kinetic[i] = total;
}
