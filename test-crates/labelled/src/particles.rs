//! Particles: kernels next to the code that calls them.

use cudarc::nvrtc::{CompileError, Ptx, compile_ptx};

pub fn push() -> Result<Ptx, CompileError> {
    compile_ptx(
        r#"
struct State { double x[3]; double v[3]; };

__device__ __noinline__ void drift(State *state, double dt) {
    for (int k = 0; k < 3; ++k) state->x[k] += dt * state->v[k];
}

// The state goes by pointer into a function that is called twice.
extern "C" __global__ void leapfrog(State *states, const double *field, double dt, int steps) {
    State state = states[blockIdx.x * blockDim.x + threadIdx.x]; //@ object state: address_escape
    for (int step = 0; step < steps; ++step) {
        drift(&state, 0.5 * dt); //@ access state
        for (int k = 0; k < 3; ++k) state.v[k] += dt * field[k] * state.x[k];
        drift(&state, 0.5 * dt); //@ access state
    }
    states[blockIdx.x * blockDim.x + threadIdx.x] = state;
}
"#,
    )
}

const PENDULUM: &str = concat!(
    "// A pendulum in double precision.\n",
    "extern \"C\" __global__ void pendulum(double2 *state, double dt, int steps) { //@ object -: slow_path_math\n",
    "    double2 s = state[blockIdx.x * blockDim.x + threadIdx.x];\n",
    "    for (int k = 0; k < steps; ++k) {\n",
    "        s.y -= dt * sin(s.x); //@ access -\n",
    "        s.x += dt * s.y;\n",
    "    }\n",
    "    state[blockIdx.x * blockDim.x + threadIdx.x] = s;\n",
    "}\n",
);

const ENERGY: &str = r#"
// Sums that the compiler must not touch, and a message when they are wrong.
extern "C" __global__ void total_energy(const double *kinetic, const double *potential, double *energy, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile double parts[2]; //@ object parts: volatile_local
    parts[0] = 0.0;
    parts[1] = 0.0;
    for (int k = i; k < n; k += gridDim.x * blockDim.x) {
        parts[0] += kinetic[k]; //@ access parts
        parts[1] += potential[k]; //@ access parts
    }
    if (parts[0] < 0.0) printf("thread %d: kinetic energy %g\n", i, parts[0]); //@ object -: printf_buffer //@ access -
    energy[i] = parts[0] + parts[1];
}
"#;

pub fn others() -> Result<[Ptx; 2], CompileError> {
    Ok([compile_ptx(PENDULUM)?, compile_ptx(ENERGY)?])
}
